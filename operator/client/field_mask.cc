#include "operator/client/field_mask.h"

#include <algorithm>
#include <utility>

namespace inference::client {
namespace {

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> members;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    members.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return members;
}

}  // namespace

FieldMask FieldMask::without(std::vector<std::string> paths) {
  return {Mode::kWithout, paths};
}

FieldMask FieldMask::only(std::vector<std::string> paths) {
  for (const char* path :
       {"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion"}) {
    paths.emplace_back(path);
  }
  return {Mode::kOnly, paths};
}

FieldMask::FieldMask(Mode mode, const std::vector<std::string>& paths) : mode_(mode) {
  for (const std::string& path : paths) {
    paths_.push_back(split(path));
    longest_ = std::max(longest_, paths_.back().size());
  }
}

bool FieldMask::keeps(const std::vector<std::string>& path) const {
  if (mode_ == Mode::kWithout) return std::ranges::find(paths_, path) == paths_.end();
  // On the way to a kept field, or below one.
  return std::ranges::any_of(paths_, [&path](const std::vector<std::string>& kept) {
    return std::equal(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(std::min(path.size(), kept.size())),
                      kept.begin());
  });
}

/// Builds a value from the parser's events, all but what the mask leaves out.
class FieldMask::Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(const FieldMask& mask, std::size_t depth) : mask_(mask), depth_(depth) {}
  [[nodiscard]] Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& value) override { return put(std::move(value)); }
  bool start_object(std::size_t /*elements*/) override { return open(Json::value_t::object); }
  bool start_array(std::size_t /*elements*/) override { return open(Json::value_t::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (skipped_containers_ > 0) return true;
    if (!keeps(name)) {
      skips_next_ = true;
      return true;
    }
    member_ = &open_.back()->get_ref<Json::object_t&>()[std::move(name)];
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  /// Notes where the parser is; false where the mask does not look.
  bool enter(const std::string& name) {
    if (mask_.mode_ == Mode::kAll || open_.size() <= depth_ || open_.size() - depth_ > mask_.longest_) return false;
    path_.resize(open_.size() - depth_);
    path_.back() = name;
    return true;
  }
  [[nodiscard]] bool keeps(const std::string& name) { return !enter(name) || mask_.keeps(path_); }

  /// Null while what comes is left out.
  template <typename Value>
  Json* place(Value&& value) {
    if (skipped_containers_ > 0 || std::exchange(skips_next_, false)) return nullptr;
    if (open_.empty()) return &(root_ = Json(std::forward<Value>(value)));
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::forward<Value>(value));
    return &(*member_ = Json(std::forward<Value>(value)));
  }
  template <typename Value>
  bool put(Value&& value) {
    (void)place(std::forward<Value>(value));
    return true;
  }
  bool open(Json::value_t type) {
    if (Json* container = place(type)) {
      open_.push_back(container);
      if (type == Json::value_t::array) enter({});  // its items have no names
    } else {
      ++skipped_containers_;
    }
    return true;
  }
  bool close() {
    if (skipped_containers_ > 0) {
      --skipped_containers_;
    } else {
      open_.pop_back();
    }
    return true;
  }

  const FieldMask& mask_;
  const std::size_t depth_;
  Json root_;
  std::vector<Json*> open_;  // containers around what comes next; a list's items move only when none is open
  Json* member_ = nullptr;   // for the value that comes next, in an object
  bool skips_next_ = false;  // the value that comes next is left out
  std::size_t skipped_containers_ = 0;
  std::vector<std::string> path_;  // of the member that is being decoded, as far as the mask looks
};

std::optional<Json> FieldMask::parse(std::string_view text, std::size_t depth) const {
  Builder builder(*this, depth);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return builder.take();
}

}  // namespace inference::client
