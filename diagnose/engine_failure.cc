#include "diagnose/engine_failure.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/parse_integer.h"
#include "base/utf8.h"

namespace inference::diagnose {
namespace {

/// A text that engines end with, and what it means. The first that is found decides, so what is precise stands before
/// what is general.
struct Known {
  std::string_view needle;
  std::string_view reason;
  std::string_view cause;
  std::string_view remedy = {};
};

constexpr std::string_view kCacheTooSmall = "the KV cache of one request does not fit into the GPU memory that is left";
constexpr std::string_view kLowerContext =
    "lower spec.serving.maxModelLen, raise spec.serving.gpuMemoryUtilization or take more GPUs "
    "(spec.parallelism.tensor)";
constexpr std::string_view kBeyondTheModel = "the context is longer than the model was made for";
constexpr std::string_view kWithinTheModel = "lower spec.serving.maxModelLen to the model's own limit";
constexpr std::string_view kGpuFull = "the GPU's memory does not suffice";
constexpr std::string_view kMoreRoom =
    "take more GPUs (spec.parallelism.tensor) or a smaller model, or lower spec.serving.maxModelLen and maxNumSeqs";
constexpr std::string_view kBadArgument = "the engine does not take one of its arguments";
constexpr std::string_view kCheckArguments = "check spec.engine.args and spec.engine.version";
constexpr std::string_view kNoModel = "there is no model where spec.model.uri points to";
constexpr std::string_view kCheckModel = "check spec.model.uri and what is in that folder on the node";
constexpr std::string_view kNoTokenizer = "the model's tokenizer can't be read";
constexpr std::string_view kAddTokenizer =
    "put the tokenizer's files (tokenizer.json, tokenizer_config.json) beside the weights";
constexpr std::string_view kUnreachable = "the processes of the model don't reach each other";
constexpr std::string_view kCheckNetwork =
    "check spec.network (interfaces, rdma), network policies, and whether another pod of the group ended first";

constexpr std::array kKnown = {
    Known{"estimated maximum model length is ", "ContextTooLong", kCacheTooSmall, kLowerContext},
    Known{"maximum number of tokens that can be stored in KV cache (", "ContextTooLong", kCacheTooSmall, kLowerContext},
    Known{"larger than the available KV cache memory", "ContextTooLong", kCacheTooSmall, kLowerContext},
    Known{"is greater than the derived max_model_len", "ContextTooLong", kBeyondTheModel, kWithinTheModel},
    Known{"is greater than the derived context_length", "ContextTooLong", kBeyondTheModel, kWithinTheModel},
    Known{"less than desired GPU memory utilization", "OutOfGPUMemory", "something else holds memory of the GPU",
          "look for other processes on the node's GPUs, or lower spec.serving.gpuMemoryUtilization"},
    Known{"No available memory for the cache blocks", "OutOfGPUMemory",
          "the weights leave no GPU memory for a KV cache",
          "raise spec.serving.gpuMemoryUtilization, take more GPUs (spec.parallelism.tensor) or a smaller model"},
    Known{"Please try to increase --mem-fraction-static", "OutOfGPUMemory",
          "the weights leave no GPU memory for a KV cache",
          "raise spec.serving.gpuMemoryUtilization, take more GPUs (spec.parallelism.tensor) or a smaller model"},
    Known{"CUDA out of memory", "OutOfGPUMemory", kGpuFull, kMoreRoom},
    Known{"CUDA error: out of memory", "OutOfGPUMemory", kGpuFull, kMoreRoom},
    Known{"HIP out of memory", "OutOfGPUMemory", kGpuFull, kMoreRoom},
    Known{"torch.OutOfMemoryError", "OutOfGPUMemory", kGpuFull, kMoreRoom},
    Known{"unrecognized arguments:", "InvalidArgument", kBadArgument, kCheckArguments},
    Known{"error: argument ", "InvalidArgument", kBadArgument, kCheckArguments},
    Known{"error: the following arguments are required", "InvalidArgument", kBadArgument, kCheckArguments},
    Known{"error: ambiguous option:", "InvalidArgument", kBadArgument, kCheckArguments},
    Known{"Can't load tokenizer for ", "TokenizerNotFound", kNoTokenizer, kAddTokenizer},
    Known{"Couldn't instantiate the backend tokenizer", "TokenizerNotFound", kNoTokenizer, kAddTokenizer},
    Known{"Error no file named tokenizer", "TokenizerNotFound", kNoTokenizer, kAddTokenizer},
    Known{"are not supported for now", "ModelNotSupported", "this version of the engine does not know the model's kind",
          "take a newer spec.engine.version"},
    Known{"does not recognize this architecture", "ModelNotSupported",
          "this version of the engine does not know the model's kind", "take a newer spec.engine.version"},
    Known{"is not a valid model identifier", "ModelNotFound", kNoModel, kCheckModel},
    Known{"does not appear to have a file named ", "ModelNotFound", kNoModel, kCheckModel},
    Known{"Can't load the configuration of ", "ModelNotFound", kNoModel, kCheckModel},
    Known{"Invalid repository ID or local directory specified", "ModelNotFound", kNoModel, kCheckModel},
    Known{"Repo id must ", "ModelNotFound", kNoModel, kCheckModel},
    Known{"Cannot find any model weights with", "ModelNotFound", "the model's folder holds no weights", kCheckModel},
    Known{"Incorrect path_or_model_id", "ModelNotFound", kNoModel, kCheckModel},
    Known{"Watchdog caught collective operation timeout", "CommunicationFailed", kUnreachable, kCheckNetwork},
    Known{"NCCL error", "CommunicationFailed", kUnreachable, kCheckNetwork},
    Known{"ncclSystemError", "CommunicationFailed", kUnreachable, kCheckNetwork},
    Known{"ncclRemoteError", "CommunicationFailed", kUnreachable, kCheckNetwork},
    Known{"DistNetworkError", "CommunicationFailed", kUnreachable, kCheckNetwork},
    Known{"DistStoreError", "CommunicationFailed", kUnreachable, kCheckNetwork},
    Known{"Unable to find address for: ", "CommunicationFailed", "Gloo was given no name of an interface",
          "leave GLOO_SOCKET_IFNAME unset or give it one concrete name"},
    Known{"Gloo connectFullMesh failed", "CommunicationFailed", kUnreachable, kCheckNetwork},
    // vLLM's API server ends with these, whatever befell the process that it had started.
    Known{"Engine core initialization failed", "EngineFailed", "the engine's own process ended while it started",
          "look further up in its log for the first error"},
    Known{"EngineDeadError", "EngineFailed", "the engine's own process ended", "look further up in its log"},
};

/// The integer at the start of `text`; commas between its digits are the thousands'.
std::optional<std::int64_t> leading_number(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const bool comma = text[i] == ',' && i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9';
    if (!digit && !comma) break;
    if (digit) digits += text[i];
  }
  const auto value = parse_integer<std::int64_t>(digits);
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<std::int64_t> number_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  return at == std::string_view::npos ? std::nullopt : leading_number(text.substr(at + words.size()));
}

std::optional<std::int64_t> fitting_length(std::string_view message) {
  for (const std::string_view words :
       {"estimated maximum model length is ", "maximum number of tokens that can be stored in KV cache (",
        "(max_position_embeddings=", "(model_max_length=", "greater than the derived context_length ("}) {
    if (const auto found = number_after(message, words)) return found;
  }
  return std::nullopt;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    if (text.substr(0, end).find_first_not_of(" \t") != std::string_view::npos) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// "ValueError: …" of a line that begins with the logger's time and place; the whole line when it names no error.
std::string_view from_the_error_on(std::string_view line) {
  for (const std::string_view mark : {"Error: ", "Exception: "}) {
    const std::size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    const std::size_t space = line.find_last_of(" \t]", at);
    return line.substr(space == std::string_view::npos ? 0 : space + 1);
  }
  return line;
}

bool looks_like_an_error(std::string_view line) {
  return std::ranges::any_of(
      std::array<std::string_view, 6>{"Error: ", "Exception: ", "error: ", "ERROR", "FATAL", "panic: "},
      [line](std::string_view mark) { return line.find(mark) != std::string_view::npos; });
}

/// The last line that looks like an error, else the last.
std::string_view most_telling(const std::vector<std::string_view>& lines) {
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (looks_like_an_error(*line)) return *line;
  }
  return lines.empty() ? std::string_view() : lines.back();
}

/// Bytes of the escape sequence at the start of `text`, as terminals understand it; 0 when there is none.
std::size_t escape_sequence(std::string_view text) {
  if (text.size() < 2 || text[0] != '\x1b' || text[1] != '[') return 0;
  std::size_t end = 2;
  while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
  return std::min(end + 1, text.size());
}

}  // namespace

bool is_vague(std::string_view reason) {
  return reason == "EngineFailed" || reason == "CommunicationFailed";
}

std::string quotable(std::string_view line, std::size_t most) {
  constexpr std::string_view kCut = "…";
  std::string out;
  while (!line.empty()) {
    if (const std::size_t escape = escape_sequence(line); escape > 0) {
      line.remove_prefix(escape);
      continue;
    }
    const CodePoint point = decode_utf8(line);
    const bool blank = point.value == '\t' || point.value == '\n' || point.value == ' ';
    std::string_view next = line.substr(0, point.bytes);
    if (!point.valid || !is_printable(point.value)) next = "?";
    if (blank) next = out.empty() || out.back() == ' ' ? "" : " ";
    if (out.size() + next.size() > most - kCut.size()) return out + std::string(kCut);
    out += next;
    line.remove_prefix(point.bytes);
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string EngineFailure::text() const {
  std::string all = cause;
  if (!remedy.empty()) all += (all.empty() ? "" : ": ") + remedy;
  if (!quote.empty()) all += (all.empty() ? "it said: " : "; it said: ") + quote;
  return all;
}

EngineFailure read_last_words(const LastWords& words) {
  const std::vector<std::string_view> lines = lines_of(words.message);
  for (const Known& known : kKnown) {
    const auto line = std::ranges::find_if(
        lines, [&](std::string_view each) { return each.find(known.needle) != std::string_view::npos; });
    if (line == lines.end()) continue;
    EngineFailure failure{.reason = std::string(known.reason),
                          .cause = std::string(known.cause),
                          .remedy = std::string(known.remedy),
                          .quote = quotable(from_the_error_on(*line)),
                          .max_model_len = std::nullopt};
    if (known.reason == "ContextTooLong") failure.max_model_len = fitting_length(words.message);
    if (failure.max_model_len)
      failure.remedy = "set spec.serving.maxModelLen to " + std::to_string(*failure.max_model_len) + " or less";
    return failure;
  }
  EngineFailure failure{.reason = "EngineFailed", .cause = {}, .remedy = {}, .quote = {}, .max_model_len = {}};
  if (words.reason == "OOMKilled") {
    failure.reason = "OutOfMemory";
    failure.cause = "the kernel killed it at its memory limit";
    failure.remedy = "raise spec.resources.memory";
    return failure;
  }
  failure.quote = quotable(from_the_error_on(most_telling(lines)));
  return failure;
}

}  // namespace inference::diagnose
