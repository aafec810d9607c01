#include "crd/pod_types.h"

#include <limits>
#include <optional>
#include <vector>

#include "base/suggestions.h"
#include "crd/describe.h"
#include "crd/embedded_crds.h"
#include "crd/integer.h"
#include "crd/quantity.h"

namespace inference::crd {
namespace {

constexpr std::size_t kMostErrors = 100;

/// What stands after `prefix` in a type's name: "Container" of "list of Container".
std::optional<std::string_view> after(std::string_view prefix, std::string_view type) {
  if (!type.starts_with(prefix)) return std::nullopt;
  return type.substr(prefix.size());
}

bool is_deletion(const Json& value) {
  return value.is_object() && value.value("$patch", Json()) == "delete";
}

bool fits_int32(const Json& value) {
  const auto number = as_integer(value);
  return number && *number >= std::numeric_limits<std::int32_t>::min() &&
         *number <= std::numeric_limits<std::int32_t>::max();
}

/// What a value of a scalar type must be; "" when it is that.
std::string_view wanted_scalar(std::string_view type, const Json& value) {
  if (type == "string") return value.is_string() ? "" : "a string";
  if (type == "boolean") return value.is_boolean() ? "" : "a boolean";
  if (type == "int32") return fits_int32(value) ? "" : "an integer of 32 bits";
  if (type == "int64") return as_integer(value) ? "" : "an integer";
  if (type == "int-or-string") return value.is_string() || fits_int32(value) ? "" : "an integer or a string";
  if (type == "quantity") {
    const bool right = value.is_number() || (value.is_string() && Quantity::parse(value.get<std::string>()));
    return right ? "" : "a quantity, such as 500m or 2Gi";
  }
  return "";  // any
}

class Checker {
 public:
  explicit Checker(UnknownFields unknown) : unknown_(unknown) {}

  void check(std::string_view type, const Json& value, const std::string& path) {
    if (value.is_null()) return;
    if (const auto item = after("list of ", type)) {
      if (!value.is_array()) return refuse(path, "a list", value);
      for (std::size_t i = 0; i < value.size(); ++i) check(*item, value[i], path + "[" + std::to_string(i) + "]");
    } else if (const auto entry = after("map of ", type)) {
      if (!value.is_object()) return refuse(path, "an object", value);
      for (const auto& [key, child] : value.items()) check_field(*entry, child, path + "[" + quotable(key) + "]");
    } else if (const auto fields = pod_types().at("types").find(type); fields != pod_types().at("types").end()) {
      if (!value.is_object()) return refuse(path, "an object", value);
      check_fields(type, *fields, value, path);
    } else if (const std::string_view wanted = wanted_scalar(type, value); !wanted.empty()) {
      refuse(path, wanted, value);
    }
  }

  FieldErrors take() { return std::move(errors_); }

 private:
  void check_field(std::string_view type, const Json& value, const std::string& path) {
    if (!is_deletion(value)) check(type, value, path);
  }

  void check_fields(std::string_view type, const Json& fields, const Json& object, const std::string& path) {
    for (const auto& [key, value] : object.items()) {
      if (key.starts_with('$')) continue;  // a directive; who merges knows them
      const auto field = fields.find(key);
      if (field != fields.end()) {
        check_field(field->get_ref<const std::string&>(), value, path + "." + key);
      } else if (unknown_ == UnknownFields::kRefuse) {
        add(path + "." + quotable(key), unknown_field(type, fields, key));
      }
    }
  }

  static std::string unknown_field(std::string_view type, const Json& fields, const std::string& key) {
    std::vector<std::string> names;
    for (const auto& [name, field] : fields.items()) names.push_back(name);
    return "unknown field: a " + std::string(type) + " of Kubernetes " +
           pod_types().at("kubernetes").get<std::string>() + " has none of this name" + did_you_mean(key, names);
  }

  void refuse(const std::string& path, std::string_view wanted, const Json& value) {
    const bool needs_quotes = wanted == "a string" && (value.is_boolean() || value.is_number());
    add(path,
        "must be " + std::string(wanted) + ", not " + describe(value) + (needs_quotes ? " (quotes make it one)" : ""));
  }

  void add(std::string path, std::string message) {
    if (errors_.size() < kMostErrors) errors_.push_back({std::move(path), std::move(message)});
  }

  UnknownFields unknown_;
  FieldErrors errors_;
};

}  // namespace

const Json& pod_types() {
  static const Json types = Json::parse(kPodTypes);
  return types;
}

FieldErrors check_pod_spec(const Json& patch, const std::string& path, UnknownFields unknown) {
  Checker checker(unknown);
  checker.check("PodSpec", patch, path);
  return checker.take();
}

}  // namespace inference::crd
