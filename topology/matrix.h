#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace inference::topology {

/// How two GPUs reach each other, nearest first: the words of `nvidia-smi topo -m`'s legend.
enum class LinkKind {
  kNvLink,  // NV#: # bonded NVLinks
  kPix,     // at most one PCIe bridge
  kPxb,     // several PCIe bridges, but no host bridge
  kPhb,     // a PCIe host bridge, i.e. the CPU
  kNode,    // several host bridges of one NUMA node
  kSys,     // the interconnect between the sockets; SOC in drivers before 384
};

struct Link {
  LinkKind kind = LinkKind::kSys;
  int nvlinks = 0;  // of kNvLink
  friend bool operator==(const Link&, const Link&) = default;
};

/// "NV12", "SYS" …
[[nodiscard]] std::string to_string(const Link& link);

/// The link between two GPUs, by their places in Matrix::gpus.
struct Pair {
  std::size_t a = 0;
  std::size_t b = 0;  // after a
  Link link;
};

/// The GPUs that `nvidia-smi topo -m` saw and the link of each pair. Plain data.
struct Matrix {
  std::vector<std::string> gpus;  // "GPU0", "GPU1" …, as they are numbered where it ran, never empty
  std::vector<Pair> pairs;        // all of them, ordered by a, then b
};

/// Reads the output of `nvidia-smi topo -m`. NICs, affinities, legends and escape sequences are passed over, in
/// whatever language. Takes only a whole matrix: every GPU of the heading has its row, every row an X for itself, every
/// link is known and the same in both directions. The error is one line that says what is missing, or what the output
/// says in place of a matrix; valid UTF-8 whatever the input. Pure.
[[nodiscard]] std::expected<Matrix, std::string> read_matrix(std::string_view output);

}  // namespace inference::topology
