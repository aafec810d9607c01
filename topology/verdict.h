#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/matrix.h"

namespace inference::topology {

/// What is known of a pod besides its matrix.
struct Given {
  std::optional<std::size_t> gpus;    // that it was given; a matrix of another number is not its own
  std::optional<std::size_t> tensor;  // GPUs that share each layer; without it all of the matrix do
};

/// What a pod's init container left in its termination message: a line `tensor=2 gpus=2`, then the matrix, or what
/// stands in its place. The plain output of `nvidia-smi topo -m` is one without that line.
struct Record {
  Given given;
  std::expected<Matrix, std::string> matrix = std::unexpected(std::string());
};
[[nodiscard]] Record read_record(std::string_view text);

enum class Answer { kGood, kBad, kUnknown };

/// What a matrix means for an engine, and why.
struct Verdict {
  Answer answer = Answer::kUnknown;
  std::string reason;          // the rule that decided, as a condition's reason: see judge()
  std::string message;         // one sentence, valid UTF-8
  std::vector<Pair> crossing;  // of kBad: the pairs that made it so
};

/// Decides by the first rule that holds:
///   NotReadable (kUnknown)  there is no whole matrix, or it is not that of the GPUs that the pod was given
///   SingleGPU   (kGood)     no two GPUs share a layer
///   CrossesSYS  (kBad)      a pair that shares layers meets only over the interconnect between sockets
///   NVLink      (kGood)     every pair that shares layers has NVLink
///   SameSocket  (kGood)     the others meet over PCIe below one socket: PIX, PXB, PHB or NODE
/// Which GPUs share layers follows from how engines number their ranks (vLLM, SGLang and TensorRT-LLM alike): tensor
/// parallel ranks are neighbours, so that stages of a pipeline may lie on different sockets. Pure.
[[nodiscard]] Verdict judge(const Record& record);

}  // namespace inference::topology
