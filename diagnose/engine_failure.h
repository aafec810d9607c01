#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inference::diagnose {

/// Why an engine ended, by its last words.
struct EngineFailure {
  std::string reason;                         // of a condition: see read_last_words()
  std::string cause;                          // a clause; empty when the words say nothing that we know
  std::string remedy;                         // what to change, a clause; empty when nobody can tell from here
  std::string quote;                          // the line that tells it: printable UTF-8 of at most kLongestQuote bytes
  std::optional<std::int64_t> max_model_len;  // of ContextTooLong: the most that fits, when the engine has named it

  /// "cause: remedy; it said: quote", without what is empty.
  [[nodiscard]] std::string text() const;
};

inline constexpr std::size_t kLongestQuote = 400;

/// What is known of a container that has ended: the kubelet's exit code and reason, and the termination message (the
/// last 2 kB of its log, where terminationMessagePolicy is FallbackToLogsOnError and it ended with an error).
struct LastWords {
  std::int64_t exit_code = 0;
  std::string reason = {};
  std::string message = {};
};

/// Decides by the first text of vLLM, SGLang, transformers, PyTorch or NCCL that is found:
///   ContextTooLong       the KV cache of one request does not fit, or the model was not made for such a context
///   OutOfGPUMemory       weights, cache or activations do not fit into the GPU
///   OutOfMemory          the kernel killed it at its memory limit
///   InvalidArgument      the engine does not know an argument or a value
///   TokenizerNotFound, ModelNotFound, ModelNotSupported
///   CommunicationFailed  the processes of a model do not reach each other
///   EngineFailed         anything else: the last line that looks like an error is quoted
/// Any bytes may be in the message. Pure.
[[nodiscard]] EngineFailure read_last_words(const LastWords& words);

/// Whether a failure for this reason only says that the engine missed the others, or nothing at all: where several
/// have ended, another knows more.
[[nodiscard]] bool is_vague(std::string_view reason);

/// `line` without colours and other control characters, as valid UTF-8 of at most `most` bytes; what was cut off shows
/// as "…".
[[nodiscard]] std::string quotable(std::string_view line, std::size_t most = kLongestQuote);

}  // namespace inference::diagnose
