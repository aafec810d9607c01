#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/source_path.h"

namespace inference::topology {

/// Output of `nvidia-smi topo -m` from fixtures/, for tests.
inline std::string fixture(const std::string& name) {
  std::ifstream file(source_path("topology/fixtures/") + name + ".txt", std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace inference::topology
