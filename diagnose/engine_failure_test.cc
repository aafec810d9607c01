#include "diagnose/engine_failure.h"

#include <gtest/gtest.h>

namespace inference::diagnose {
namespace {

struct Case {
  const char* says;
  LastWords words;
  const char* reason;
  std::optional<std::int64_t> max_model_len;
  const char* text;  // a part of it
};

/// As the engines print it (vLLM 0.6 to 0.33, SGLang 0.5, transformers, PyTorch).
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"vLLM, the estimate named",
       {1, "Error",
        "INFO 11-30 12:00:00 [gpu_worker.py:255] Available KV cache memory: 17.39 GiB\n"
        "(EngineCore_DP0 pid=128) ERROR 11-30 12:00:01 [core.py:708] ValueError: To serve at least one request with "
        "the "
        "models's max seq len (1048576), (22.50 GiB KV cache is needed, which is larger than the available KV cache "
        "memory (17.39 GiB). Based on the available memory, the estimated maximum model length is 810208. Try "
        "increasing "
        "`gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n"
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"},
       "ContextTooLong",
       810208,
       "set spec.serving.maxModelLen to 810208 or less; it said: ValueError: To serve at least"},
      {"newer words, thousands told apart by commas",
       {1, "Error",
        "ValueError: To serve at least one request with the model's max seq len (16,384), 4.0 GiB KV cache is needed, "
        "which is larger than the available KV cache memory (2.5 GiB). Based on the available memory, the estimated "
        "maximum model length is 10,240."},
       "ContextTooLong",
       10240,
       "10240 or less"},
      {"vLLM before 0.8",
       {1, "Error",
        "ValueError: The model's max seq len (163840) is larger than the maximum number of tokens that can be stored "
        "in "
        "KV cache (13360). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`"},
       "ContextTooLong",
       13360,
       "13360 or less"},
      {"no estimate",
       {1, "Error",
        "ValueError: To serve at least one request with the models's max seq len (1048576), (24.00 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (9.97 GiB). Try increasing"},
       "ContextTooLong",
       std::nullopt,
       "lower spec.serving.maxModelLen"},
      {"longer than the model",
       {1, "Error",
        "  Value error, User-specified max_model_len (1048576) is greater than the derived max_model_len "
        "(max_position_embeddings=131072 or model_max_length=None in model's config.json)."},
       "ContextTooLong",
       131072,
       "131072 or less"},
      {"SGLang, longer than the model",
       {1, "Error",
        "ValueError: User-specified context_length (1048576) is greater than the derived context_length (40960)."},
       "ContextTooLong",
       40960,
       "40960 or less"},
      {"CUDA",
       {1, "Error",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.25 "
        "GiB"},
       "OutOfGPUMemory",
       std::nullopt,
       "take more GPUs (spec.parallelism.tensor)"},
      {"no room for a cache",
       {1, "Error", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"},
       "OutOfGPUMemory",
       std::nullopt,
       "raise spec.serving.gpuMemoryUtilization"},
      {"SGLang, no room for a cache",
       {1, "Error", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."},
       "OutOfGPUMemory",
       std::nullopt,
       "raise spec.serving.gpuMemoryUtilization"},
      {"someone else on the GPU",
       {1, "Error",
        "ValueError: Free memory on device cuda:0 (6.1/79.25 GiB) on startup is less than desired GPU memory "
        "utilization "
        "(0.92, 72.9 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."},
       "OutOfGPUMemory",
       std::nullopt,
       "other processes on the node's GPUs"},
      {"the kernel",
       {137, "OOMKilled", "Loading safetensors checkpoint shards: 45%"},
       "OutOfMemory",
       std::nullopt,
       "raise spec.resources.memory"},
      {"an unknown flag",
       {2, "Error",
        "usage: vllm serve [model_tag] [options]\nvllm serve: error: unrecognized arguments: --max-modle-len 8"},
       "InvalidArgument",
       std::nullopt,
       "it said: vllm serve: error: unrecognized arguments: --max-modle-len 8"},
      {"a value that is none",
       {2, "Error", "launch_server.py: error: argument --tp-size: invalid int value: 'two'"},
       "InvalidArgument",
       std::nullopt,
       "spec.engine.args"},
      {"no tokenizer",
       {1, "Error",
        "OSError: Can't load tokenizer for '/models'. If you were trying to load it from "
        "'https://huggingface.co/models'"},
       "TokenizerNotFound",
       std::nullopt,
       "tokenizer.json"},
      {"no configuration",
       {1, "Error",
        "OSError: /models does not appear to have a file named config.json. Checkout 'https://huggingface.co'"},
       "ModelNotFound",
       std::nullopt,
       "spec.model.uri"},
      {"no such model",
       {1, "Error",
        "OSError: /models/llama is not a local folder and is not a valid model identifier listed on "
        "'https://huggingface.co/models'"},
       "ModelNotFound",
       std::nullopt,
       "spec.model.uri"},
      {"no weights",
       {1, "Error", "RuntimeError: Cannot find any model weights with `/models`"},
       "ModelNotFound",
       std::nullopt,
       "holds no weights"},
      {"an architecture of tomorrow",
       {1, "Error",
        "ValueError: Model architectures ['Llama9ForCausalLM'] are not supported for now. Supported: dict_keys"},
       "ModelNotSupported",
       std::nullopt,
       "spec.engine.version"},
      {"NCCL timed out",
       {1, "Error",
        "[rank1]:[E1218 20:27:21.433063423 ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST) ran for 600088 milliseconds before timing out."},
       "CommunicationFailed",
       std::nullopt,
       "spec.network"},
      {"Gloo given NCCL's form",
       {1, "Error", "RuntimeError: Unable to find address for: ^lo"},
       "CommunicationFailed",
       std::nullopt,
       "GLOO_SOCKET_IFNAME"},
      {"the cause is cut off",
       {1, "Error",
        "Traceback (most recent call last):\nRuntimeError: Engine core initialization failed. See root cause above."},
       "EngineFailed",
       std::nullopt,
       "look further up in its log"},
      {"something new",
       {1, "Error", "INFO starting\n[12:00] KeyError: 'rope_scaling'\n/usr/lib: 1 leaked semaphore\n"},
       "EngineFailed",
       std::nullopt,
       "it said: KeyError: 'rope_scaling'"},
      {"no error at all", {3, "Error", "bye\n\n"}, "EngineFailed", std::nullopt, "it said: bye"},
  };
  return kCases;
}

TEST(EngineFailure, ReadsTheLastWordsOfEachEngine) {
  for (const Case& each : cases()) {
    const EngineFailure failure = read_last_words(each.words);
    EXPECT_EQ(failure.reason, each.reason) << each.says;
    EXPECT_EQ(failure.max_model_len, each.max_model_len) << each.says;
    EXPECT_NE(failure.text().find(each.text), std::string::npos) << each.says << ": " << failure.text();
    EXPECT_LE(failure.quote.size(), kLongestQuote) << each.says;
  }
}

TEST(EngineFailure, SaysNothingWhereTheEngineSaidNothing) {
  const EngineFailure failure = read_last_words({.exit_code = 139, .reason = "Error", .message = ""});
  EXPECT_EQ(failure.reason, "EngineFailed");
  EXPECT_EQ(failure.text(), "");
}

TEST(EngineFailure, TakesNoNumberThatIsNone) {
  for (const char* number : {"", "0", "-1", "99999999999999999999", "many"}) {
    const EngineFailure failure = read_last_words(
        {.exit_code = 1, .message = std::string("the estimated maximum model length is ") + number + ". Try"});
    EXPECT_EQ(failure.reason, "ContextTooLong") << number;
    EXPECT_EQ(failure.max_model_len, std::nullopt) << number;
  }
  EXPECT_EQ(read_last_words({.message = "estimated maximum model length is 2147483648."}).max_model_len, 2147483648);
}

TEST(Quotable, KeepsNoColourAndNoControlCharacter) {
  EXPECT_EQ(quotable("\x1b[1;36m(EngineCore)\x1b[0;0m  failed\tat\x07 once\xff"), "(EngineCore) failed at? once?");
  EXPECT_EQ(quotable("  Größe ✓  "), "Größe ✓");
  EXPECT_EQ(quotable("\x1b["), "");
}

TEST(Quotable, CutsBetweenCharacters) {
  EXPECT_EQ(quotable("äääää", 9), "äää…");
  EXPECT_EQ(quotable(std::string(1000, 'x')).size(), kLongestQuote);
}

}  // namespace
}  // namespace inference::diagnose
