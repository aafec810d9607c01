#include "cli/completion_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

namespace inference::cli {
namespace {

// cobra's ShellCompDirective.
constexpr int kFiles = 0;
constexpr int kNoFiles = 4;
constexpr int kFolders = 16;

constexpr auto kBash = R"(# bash completion of kubectl-inference; load with: source <(kubectl-inference completion bash)
_kubectl_inference() {
  local word=${COMP_WORDS[COMP_CWORD]} lines directive line
  COMPREPLY=()
  mapfile -t lines < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  ((${#lines[@]} > 0)) || return
  directive=${lines[-1]#:}
  unset 'lines[-1]'
  for line in "${lines[@]}"; do
    line=${line%%$'\t'*}
    [[ $line == "$word"* ]] && COMPREPLY+=("$line")
  done
  if ((directive & 16)); then
    mapfile -t COMPREPLY < <(compgen -d -- "$word")
    compopt -o filenames
  elif ((!(directive & 4))); then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    compopt -o filenames
  fi
}
complete -F _kubectl_inference kubectl-inference
)";

constexpr auto kZsh = R"(#compdef kubectl-inference
# zsh completion of kubectl-inference; save as _kubectl-inference in a folder of $fpath, or load with: source <(kubectl-inference completion zsh)
_kubectl-inference() {
  local -a lines candidates
  local line directive
  lines=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  directive=${lines[-1]#:}
  for line in "${(@)lines[1,-2]}"; do
    [[ -n $line ]] && candidates+=("${${line//:/\\:}/$'\t'/:}")
  done
  if (( directive & 16 )); then
    _files -/
  elif (( ! (directive & 4) )); then
    _files
  else
    _describe 'kubectl-inference' candidates
  fi
}
if [[ ${funcstack[1]} == _kubectl-inference ]]; then
  _kubectl-inference "$@"
else
  compdef _kubectl-inference kubectl-inference
fi
)";

constexpr auto kFish = R"(# fish completion of kubectl-inference; load with: kubectl-inference completion fish | source
function __kubectl_inference_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l lines ($words[1] __complete $words[2..-1] 2>/dev/null)
  test (count $lines) -gt 0; or return
  set -l directive (string replace ':' '' -- $lines[-1])
  set -e lines[-1]
  if test $directive -eq 16
    __fish_complete_directories (commandline -ct)
  else if test $directive -eq 0
    __fish_complete_path (commandline -ct)
  else
    printf '%s\n' $lines
  end
end
complete -c kubectl-inference -f -a '(__kubectl_inference_complete)'
)";

/// Candidates and the directive that goes with them.
struct Completion {
  std::vector<std::string> candidates;
  int directive = kNoFiles;
};

/// The words of an option's check: the parser shows them as `TEXT:{a,b}`.
std::vector<std::string> choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', std::min(open, type.size()));
  std::vector<std::string> words;
  if (close == std::string::npos) return words;
  for (const std::string& word : CLI::detail::split(type.substr(open + 1, close - open - 1), ','))
    words.push_back(word);
  std::ranges::sort(words);
  return words;
}

Completion complete_value(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.starts_with("FILE")) return {.candidates = {}, .directive = kFiles};
  if (type.starts_with("DIR")) return {.candidates = {}, .directive = kFolders};
  return {.candidates = choices(option), .directive = kNoFiles};
}

std::string first_clause(std::string_view text) {
  return std::string(text.substr(0, text.find_first_of(".,:;\n")));
}

/// The option that `word` names, null when it is none.
const CLI::Option* find_option(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-') || word == "-") return nullptr;
  return command.get_option_no_throw(word);
}

void add_options(const CLI::App& command, std::vector<std::string>& candidates) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      candidates.push_back("--" + name + "\t" + first_clause(option->get_description()));
    for (const std::string& name : option->get_snames())
      candidates.push_back("-" + name + "\t" + first_clause(option->get_description()));
  }
}

/// What can follow the complete words `before` in the command.
Completion complete_word(const CLI::App& app, const std::vector<std::string>& before, const std::string& word) {
  const CLI::App* command = &app;
  const CLI::Option* waiting = nullptr;  // an option whose value comes next
  for (const std::string& earlier : before) {
    if (waiting != nullptr) {
      waiting = nullptr;
    } else if (const CLI::Option* option = find_option(*command, earlier)) {
      waiting = option->get_type_size() > 0 ? option : nullptr;
    } else if (command == &app) {
      const auto subcommands =
          app.get_subcommands([&earlier](const CLI::App* candidate) { return candidate->get_name() == earlier; });
      if (!subcommands.empty()) command = subcommands.front();
    }
  }
  if (waiting != nullptr) return complete_value(*waiting);
  const std::size_t equals = word.find('=');
  if (word.starts_with("--") && equals != std::string::npos) {
    const CLI::Option* option = find_option(*command, word.substr(0, equals));
    if (option == nullptr) return {};
    Completion completion = complete_value(*option);
    for (std::string& candidate : completion.candidates) candidate.insert(0, word.substr(0, equals + 1));
    return completion;
  }
  Completion completion;
  if (word.starts_with('-')) {
    add_options(*command, completion.candidates);
    return completion;
  }
  for (const CLI::App* subcommand : command->get_subcommands([](const CLI::App*) { return true; })) {
    completion.candidates.push_back(subcommand->get_name() + "\t" + first_clause(subcommand->get_description()));
  }
  for (const CLI::Option* option :
       command->get_options([](const CLI::Option* candidate) { return candidate->get_positional(); })) {
    std::ranges::move(choices(*option), std::back_inserter(completion.candidates));
  }
  return completion;
}

}  // namespace

Outcome run_completion(std::string_view shell) {
  const std::string_view script = shell == "zsh" ? kZsh : shell == "fish" ? kFish : kBash;
  return {.code = ExitCode::kOk, .out = std::string(script), .err = ""};
}

Outcome run_complete(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string word = words.empty() ? "" : words.back();
  const std::vector<std::string> before =
      words.empty() ? words : std::vector<std::string>(words.begin(), words.end() - 1);
  const Completion completion = complete_word(app, before, word);
  Outcome outcome;
  for (const std::string& candidate : completion.candidates) {
    if (candidate.starts_with(word)) outcome.out += candidate + "\n";
  }
  outcome.out += ":" + std::to_string(completion.directive) + "\n";
  return outcome;
}

}  // namespace inference::cli
