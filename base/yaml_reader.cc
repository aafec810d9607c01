#include "base/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <istream>
#include <streambuf>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/utf8.h"

namespace inference {
namespace {

/// Stops yaml-cpp in the middle of a document: its event interface has no other way. Never leaves this file.
struct Refused {
  YamlError error;
};

/// A document in the order of its events: a collection is followed by its children and an end. Flat, so that an anchor
/// is a range and an alias a copy of that range: nothing is copied twice, however anchors are nested.
struct Event {
  YamlNode node;  // without its children
  bool end = false;
};

YamlNode make_node(YamlNode::Kind kind, std::string tag) {
  YamlNode node;
  node.kind = kind;
  node.tag = std::move(tag);
  return node;
}

class EventCollector final : public YAML::EventHandler {
 public:
  explicit EventCollector(const YamlLimits& limits) : limits_(limits) {}

  /// Where the last document began, 1-based.
  [[nodiscard]] std::size_t document_line() const { return document_line_; }
  [[nodiscard]] std::vector<Event> take() { return std::exchange(events_, {}); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // At a token that can begin no value (a comma outside brackets) yaml-cpp gives empty documents for ever.
    if (mark.pos == document_position_) refuse(mark, "this begins no value: look for a missing quote or bracket");
    document_position_ = mark.pos;
    document_line_ = static_cast<std::size_t>(mark.line) + 1;
    events_.clear();
    anchors_.clear();
    open_anchors_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, make_node(YamlNode::Kind::kNull, ""));
    close_anchor(anchor, events_.size() - 1);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.find('\0') != std::string::npos) refuse(mark, "a NUL character is not allowed");
    // yaml-cpp says "?" for a plain scalar and "!" for a quoted one; with a tag of its own it does not tell.
    YamlNode node = make_node(YamlNode::Kind::kScalar, written_tag(tag));
    node.scalar = value;
    node.plain = tag != "!";
    add(mark, std::move(node));
    close_anchor(anchor, events_.size() - 1);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, YamlNode::Kind::kSequence, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, YamlNode::Kind::kMapping, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) refuse(mark, "an alias must not refer to a value that it is part of");
    const auto [begin, end] = target->second;
    for (std::size_t i = begin; i < end; ++i) {
      if (events_[i].end) {
        events_.push_back(Event{.node = {}, .end = true});
        --depth_;
      } else {
        YamlNode copy = events_[i].node;
        const bool collection = copy.kind == YamlNode::Kind::kSequence || copy.kind == YamlNode::Kind::kMapping;
        add(mark, std::move(copy));
        if (collection) ++depth_;
      }
    }
  }

 private:
  [[noreturn]] static void refuse(const YAML::Mark& mark, std::string message) {
    throw Refused{{.message = std::move(message),
                   .line = static_cast<std::size_t>(mark.line) + 1,
                   .column = static_cast<std::size_t>(mark.column) + 1}};
  }

  static std::string written_tag(const std::string& tag) {
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    if (tag == "?" || tag == "!") return "";
    return tag.starts_with(kCore) ? "!!" + tag.substr(kCore.size()) : tag;
  }

  void add(const YAML::Mark& mark, YamlNode node) {
    if (++nodes_ > limits_.nodes) {
      refuse(mark,
             "has more than " + std::to_string(limits_.nodes) + " nodes (aliases are counted as what they stand for)");
    }
    if (depth_ >= limits_.depth) refuse(mark, "is nested deeper than " + std::to_string(limits_.depth) + " levels");
    node.line = static_cast<std::size_t>(mark.line) + 1;
    node.column = static_cast<std::size_t>(mark.column) + 1;
    events_.push_back(Event{.node = std::move(node)});
  }

  void open(const YAML::Mark& mark, YamlNode::Kind kind, const std::string& tag, YAML::anchor_t anchor) {
    add(mark, make_node(kind, written_tag(tag)));
    open_anchors_.emplace_back(anchor, events_.size() - 1);
    ++depth_;
  }

  void close() {
    events_.push_back(Event{.node = {}, .end = true});
    --depth_;
    const auto [anchor, begin] = open_anchors_.back();
    open_anchors_.pop_back();
    close_anchor(anchor, begin);
  }

  void close_anchor(YAML::anchor_t anchor, std::size_t begin) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = {begin, events_.size()};
  }

  YamlLimits limits_;
  std::size_t nodes_ = 0;  // of all documents of the text
  std::size_t depth_ = 0;
  std::size_t document_line_ = 0;
  int document_position_ = -1;
  std::vector<Event> events_;
  std::unordered_map<YAML::anchor_t, std::pair<std::size_t, std::size_t>> anchors_;  // complete ones only
  std::vector<std::pair<YAML::anchor_t, std::size_t>> open_anchors_;                 // one for each open collection
};

YamlNode build(std::vector<Event>& events, std::size_t& next);

/// Reads one key and its value into `mapping`.
void build_entry(YamlNode& mapping, std::unordered_set<std::string>& keys, std::vector<Event>& events,
                 std::size_t& next) {
  const auto refuse = [](const YamlNode& at, std::string message) {
    throw Refused{{.message = std::move(message), .line = at.line, .column = at.column}};
  };
  YamlNode key = build(events, next);
  if (key.kind != YamlNode::Kind::kScalar) refuse(key, "a key must be text, not a list, a mapping or null");
  if (!key.tag.empty()) refuse(key, "a key must not have a tag: write it plain, or in quotes");
  if (key.plain && key.scalar == "<<")
    refuse(key, "merge keys (<<) are not taken, though kubectl takes them: write the fields out");
  if (!keys.insert(key.scalar).second) refuse(key, "duplicate key \"" + key.scalar + "\"");
  YamlNode value = build(events, next);
  mapping.entries.push_back(
      {.key = std::move(key.scalar), .key_line = key.line, .key_plain = key.plain, .value = std::move(value)});
}

/// The tree that starts at `next`; recursion is bounded by the limit on depth.
YamlNode build(std::vector<Event>& events, std::size_t& next) {
  YamlNode node = std::move(events[next++].node);
  if (node.kind == YamlNode::Kind::kSequence) {
    while (!events[next].end) node.items.push_back(build(events, next));
    ++next;
  } else if (node.kind == YamlNode::Kind::kMapping) {
    std::unordered_set<std::string> keys;
    while (!events[next].end) build_entry(node, keys, events, next);
    ++next;
  }
  return node;
}

/// Finds what yaml-cpp would misread: it takes U+0004 for the end of the text, drops carriage returns, and guesses
/// UTF-16 from NUL bytes. The characters refused are those that go-yaml refuses.
std::optional<YamlError> check_characters(std::string_view text) {
  YamlError at{.message = "", .line = 1, .column = 1};
  while (!text.empty()) {
    const CodePoint c = decode_utf8(text);
    if (!c.valid) {
      at.message = "is not valid UTF-8 (byte " + escape_for_terminal(text.substr(0, 1)) + ")";
      return at;
    }
    const bool control = (c.value < 0x20 && c.value != '\t' && c.value != '\n' && c.value != '\r') ||
                         (c.value >= 0x7F && c.value < 0xA0 && c.value != 0x85) || c.value == 0xFEFF ||
                         c.value == 0xFFFE || c.value == 0xFFFF;
    if (control) {
      at.message = "control character " + escape_for_terminal(text.substr(0, c.bytes)) + " is not allowed";
      return at;
    }
    ++at.column;
    if (c.value == '\n') ++at.line, at.column = 1;
    text.remove_prefix(c.bytes);
  }
  return std::nullopt;
}

/// YAML counts CR LF and CR alone as line breaks.
std::string with_line_feeds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  return out;
}

void append_utf8(std::string& out, char32_t c) {
  out += static_cast<char>(0xF0U | (c >> 18U));
  out += static_cast<char>(0x80U | ((c >> 12U) & 0x3FU));
  out += static_cast<char>(0x80U | ((c >> 6U) & 0x3FU));
  out += static_cast<char>(0x80U | (c & 0x3FU));
}

/// The code unit of `\uXXXX` at `at`, 0 where there is none.
char32_t escaped_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return 0;
  char32_t unit = 0;
  for (const char c : text.substr(at + 2, 4)) {
    const bool digit = c >= '0' && c <= '9';
    unit = unit * 16 + static_cast<char32_t>(digit ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return unit;
}

/// JSON writes characters beyond U+FFFF as two escapes, which YAML does not have. `json` must be valid JSON: there a
/// backslash stands only inside strings, so that nothing else is touched.
std::string without_surrogate_escapes(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size();) {
    const char32_t high = escaped_unit(json, i);
    const char32_t low = high >= 0xD800 && high <= 0xDBFF ? escaped_unit(json, i + 6) : 0;
    if (low >= 0xDC00 && low <= 0xDFFF) {
      append_utf8(out, 0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00));
      i += 12;
      continue;
    }
    const std::size_t length = json[i] == '\\' ? 2 : 1;
    out += json.substr(i, length);
    i += length;
  }
  return out;
}

/// yaml-cpp takes a quoted text that is still open after the last line break for a complete one, unless a document end
/// follows. Where the text ends in the middle of a line it tells by itself, and a block there must not get a line break
/// that it does not have.
void close_last_document(std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t");
  if (end == std::string::npos || text[end] != '\n') return;
  text += end + 1 == text.size() ? "...\n" : "\n...\n";
}

/// yaml-cpp's messages name its scanner's states; these say what to look for.
std::string plain_message(const std::string& message) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kPlain = {{
      {"bad file", "is nested too deeply"},
      {"illegal map value",
       "a mapping value is not allowed here: look for a missing quote, a stray colon or wrong indentation"},
      {"illegal EOF in scalar", "a quoted text is not closed"},
      {"illegal document indicator in scalar", "a quoted text is not closed"},
      {"illegal block entry", "a list item (-) is not allowed here: look at the indentation"},
      {"illegal map key", "a key is not allowed here: look at the indentation"},
      {"illegal flow end", "a closing bracket without an opening one"},
      {"end of sequence flow not found", "a list that begins with [ is not closed"},
      {"end of map flow not found", "a mapping that begins with { is not closed"},
      {"end of map not found", "this line belongs to no mapping or list: look at the indentation"},
      {"end of sequence not found", "this line belongs to no mapping or list: look at the indentation"},
  }};
  const auto* found = std::ranges::find(kPlain, message, &std::pair<std::string_view, std::string_view>::first);
  return std::string(found != kPlain.end() ? found->second : message);
}

YamlError translate(const YAML::Exception& exception, std::string_view text) {
  if (exception.mark.is_null()) return {.message = plain_message(exception.msg)};
  YamlError error{.message = plain_message(exception.msg),
                  .line = static_cast<std::size_t>(exception.mark.line) + 1,
                  .column = static_cast<std::size_t>(exception.mark.column) + 1};
  std::size_t begin = 0;
  for (std::size_t line = 1; line < error.line && begin != std::string_view::npos; ++line) {
    begin = text.find('\n', begin);
    if (begin != std::string_view::npos) ++begin;
  }
  if (begin >= text.size()) return error;
  const std::size_t content = text.find_first_not_of(" \t", begin);
  const std::string_view indent = text.substr(begin, content == std::string_view::npos ? content : content - begin);
  if (indent.find('\t') != std::string_view::npos) error.message = "tabs must not indent YAML: use spaces";
  return error;
}

/// Reads the text where it is, without the copy of a string stream.
class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // the interface wants char*; a get area is never written to
    setg(begin, begin, begin + text.size());
  }
};

/// yaml-cpp takes a second document without `---` (`{}{}`, or a mapping after a list); YAML does not. Asked once for
/// each document after the first, in their order: it goes through the text only once, however many documents there are.
class Separators {
 public:
  explicit Separators(std::string_view text) : text_(text) {}

  /// Whether the document whose first line is `line` (1-based) begins with `---` or follows a `...`.
  bool precede(std::size_t line) {
    for (; line_ < line; ++line_) begin_ = std::min(text_.find('\n', begin_), text_.size() - 1) + 1;
    if (text_.substr(begin_).starts_with("---")) return true;
    std::size_t end = begin_;
    while (end > 0) {
      const std::size_t before = end < 2 ? std::string_view::npos : text_.rfind('\n', end - 2);
      const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
      const std::string_view content = text_.substr(begin, end - 1 - begin);
      if (content.find_first_not_of(" \t") != std::string_view::npos && !content.starts_with('#'))
        return content.starts_with("...");
      end = begin;
    }
    return false;
  }

 private:
  std::string_view text_;
  std::size_t line_ = 1;
  std::size_t begin_ = 0;  // of line_
};

std::expected<std::vector<YamlNode>, YamlError> parse(std::string_view text, const YamlLimits& limits) {
  std::vector<YamlNode> documents;
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    EventCollector collector(limits);
    Separators separators(text);
    for (bool first = true; parser.HandleNextDocument(collector); first = false) {
      if (!first && !separators.precede(collector.document_line())) {
        return std::unexpected(YamlError{
            .message = "this follows the end of a document: look at the indentation, or put --- between documents",
            .line = collector.document_line(),
            .column = 1});
      }
      std::vector<Event> events = collector.take();
      std::size_t next = 0;
      if (events.empty() || events[0].node.kind == YamlNode::Kind::kNull) continue;
      documents.push_back(build(events, next));
    }
  } catch (const Refused& refused) {
    return std::unexpected(refused.error);
  } catch (const YAML::Exception& exception) {
    return std::unexpected(translate(exception, text));
  }
  return documents;
}

}  // namespace

std::expected<std::vector<YamlNode>, YamlError> read_yaml(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes)
    return std::unexpected(YamlError{.message = "is larger than " + std::to_string(limits.bytes) + " bytes"});
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (auto error = check_characters(text)) return std::unexpected(*error);
  // yaml-cpp scans a whole flow collection before it reports the first event of it, so our limit on nodes would come
  // too late. Every node in such a collection costs one of these characters, and a mapping in a list three.
  const auto brackets =
      std::ranges::count_if(text, [](char c) { return std::string_view("[]{},").find(c) != std::string_view::npos; });
  if (std::cmp_greater(brackets, 3 * limits.nodes)) {
    return std::unexpected(YamlError{.message = "has more than " + std::to_string(limits.nodes) + " nodes"});
  }
  std::string own(text);
  if (own.find('\r') != std::string::npos) own = with_line_feeds(own);
  if (own.find("\\u") != std::string::npos && Json::accept(own)) own = without_surrogate_escapes(own);
  close_last_document(own);
  return parse(own, limits);
}

}  // namespace inference
