#include "audit/command_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/json_members.h"
#include "base/parse_integer.h"
#include "render/knowledge.h"

namespace inference::audit {
namespace {

constexpr std::string_view kEnd = "\n";
constexpr std::size_t kLongest = std::size_t{1} << 20;  // of a text with its variables: some hold others

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The text in place of the variable that starts at `at` ($NAME, ${NAME}, ${NAME:-otherwise}, $(NAME)), and how much
/// it takes; nothing for what is not a known variable.
std::optional<std::pair<std::string, std::size_t>> variable_at(std::string_view text, std::size_t at,
                                                               const Constants& constants) {
  std::size_t begin = at + 1;
  const char open = begin < text.size() ? text[begin] : '\0';
  const bool braced = open == '{' || open == '(';
  if (braced) ++begin;
  std::size_t end = begin;
  while (end < text.size() && is_name(text[end])) ++end;
  if (end == begin) return std::nullopt;
  const auto known = constants.find(text.substr(begin, end - begin));
  if (!braced) {
    if (known == constants.end()) return std::nullopt;
    return std::pair(known->second, end - at);
  }
  const std::size_t close = text.find(open == '{' ? '}' : ')', end);
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(end, close - end);
  const bool has_default = open == '{' && rest.starts_with(":-");
  if (!rest.empty() && !has_default) return std::nullopt;
  if (known != constants.end()) return std::pair(known->second, close + 1 - at);
  if (has_default) return std::pair(std::string(rest.substr(2)), close + 1 - at);
  return std::nullopt;
}

/// `bare` says whether $NAME and ${NAME} are variables, as in a shell; Kubernetes itself only takes $(NAME).
enum class Syntax { kKubernetes, kShell };

std::string expand(std::string_view text, const Constants& constants, Syntax syntax) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool candidate = text[i] == '$' && (syntax == Syntax::kShell || (i + 1 < text.size() && text[i + 1] == '('));
    const auto variable = candidate ? variable_at(text, i, constants) : std::nullopt;
    out += variable ? variable->first : std::string(1, text[i]);
    i += variable ? variable->second : 1;
    if (out.size() > kLongest) return out.substr(0, kLongest);
  }
  return out;
}

/// Takes a script apart.
class ScriptReader {
 public:
  ScriptReader(std::string_view script, std::string pointer, Words& words)
      : script_(script), pointer_(std::move(pointer)), words_(words) {}

  void read() {
    for (at_ = 0; at_ < script_.size(); ++at_) step();
    end_word();
    end_command();
  }

 private:
  void step() {
    const char c = script_[at_];
    if (c == '\\') return escape();
    if (quote_ != '\0') {
      if (c == quote_) {
        quote_ = '\0';
      } else {
        word_ += c;
      }
      return;
    }
    if (c == '\'' || c == '"') {
      quote_ = c;
      in_word_ = true;
    } else if (c == '#' && !in_word_) {
      at_ = std::min(script_.find('\n', at_), script_.size()) - 1;
    } else if (c == '\n' || c == ';' || c == '|' || c == '&') {
      end_word();
      end_command();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else {
      in_word_ = true;
      word_ += c;
    }
  }
  void escape() {
    if (quote_ == '\'' || at_ + 1 == script_.size()) {
      word_ += '\\';
      in_word_ = true;
    } else if (script_[++at_] != '\n') {
      word_ += script_[at_];
      in_word_ = true;
    }
  }
  void end_word() {
    if (in_word_) words_.push_back({.text = std::move(word_), .pointer = pointer_});
    word_.clear();
    in_word_ = false;
  }
  void end_command() {
    if (!words_.empty() && words_.back().text != kEnd)
      words_.push_back({.text = std::string(kEnd), .pointer = pointer_});
  }

  std::string_view script_;
  std::string pointer_;
  Words& words_;
  std::size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;
  char quote_ = '\0';
};

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_shell(std::string_view word) {
  static constexpr std::array kShells = {"sh", "bash", "ash", "dash", "zsh"};
  return std::ranges::find(kShells, base_name(word)) != kShells.end();
}

/// `-c`, and its kin with other letters (`-lc`, `-exc`).
bool takes_script(std::string_view word) {
  return word.size() >= 2 && word[0] == '-' && word[1] != '-' && word.ends_with('c');
}

}  // namespace

Words command_words(const Json& container, std::string_view pointer, const Constants& constants) {
  Words words;
  bool shell = false;
  bool script = false;
  for (const char* list : {"command", "args"}) {
    const Json& items = member(container, list);
    if (!items.is_array()) continue;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string* text = items[i].get_ptr<const std::string*>();
      if (text == nullptr) continue;
      std::string place = std::string(pointer) + "/" + list + "/" + std::to_string(i);
      if (script) {
        const std::string expanded = expand(expand(*text, constants, Syntax::kKubernetes), constants, Syntax::kShell);
        ScriptReader(expanded, std::move(place), words).read();
        script = false;
        continue;
      }
      script = shell && takes_script(*text);
      shell = shell || is_shell(*text);
      words.push_back({.text = expand(*text, constants, Syntax::kKubernetes), .pointer = std::move(place)});
    }
  }
  return words;
}

std::optional<Flag> find_flag(const Words& words, std::initializer_list<std::string_view> names) {
  std::optional<Flag> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (!word.starts_with('-')) continue;
    const std::string name = render::flag_name(word);
    if (std::ranges::find(names, std::string_view(name)) == names.end()) continue;
    const std::size_t equals = word.find('=');
    Flag flag{.name = word.substr(0, equals), .value = "", .pointer = words[i].pointer};
    if (equals != std::string::npos) {
      flag.value = word.substr(equals + 1);
    } else if (i + 1 < words.size() && words[i + 1].text != kEnd) {
      flag.value = words[i + 1].text;
    }
    found = std::move(flag);
  }
  return found;
}

std::optional<std::int64_t> number_of_flag(const Words& words, std::initializer_list<std::string_view> names) {
  const auto flag = find_flag(words, names);
  return flag ? parse_integer<std::int64_t>(flag->value) : std::nullopt;
}

bool calls(const Words& words, std::initializer_list<std::string_view> command) {
  const std::vector<std::string_view> wanted(command);
  for (std::size_t i = 0; i + wanted.size() <= words.size(); ++i) {
    bool all = true;
    for (std::size_t k = 0; k < wanted.size() && all; ++k)
      all = k == 0 ? base_name(words[i].text) == wanted[0] : words[i + k].text == wanted[k];
    if (all) return true;
  }
  return false;
}

}  // namespace inference::audit
