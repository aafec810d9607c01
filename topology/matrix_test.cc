#include "topology/matrix.h"

#include <gtest/gtest.h>

#include "topology/fixtures.h"

namespace inference::topology {
namespace {

/// The links of a whole matrix as one text: "GPU0-GPU1 NV12 …".
std::string links(const Matrix& matrix) {
  std::string text;
  for (const Pair& pair : matrix.pairs)
    text += (text.empty() ? "" : " ") + matrix.gpus[pair.a] + "-" + matrix.gpus[pair.b] + " " + to_string(pair.link);
  return text;
}

TEST(ReadMatrix, TellsEveryKindOfLinkApart) {
  const auto matrix = read_matrix(fixture("pcie-switches"));
  ASSERT_TRUE(matrix.has_value()) << matrix.error();
  EXPECT_EQ(links(*matrix), "GPU0-GPU1 PIX GPU0-GPU2 PXB GPU0-GPU3 NODE GPU1-GPU2 PXB GPU1-GPU3 NODE GPU2-GPU3 PHB");
}

TEST(ReadMatrix, PassesOverNicsAffinitiesLegendsAndEscapeSequences) {
  for (const auto& [name, gpus, pairs] : {std::tuple{"h100-sxm", 8U, 28U},
                                          {"a100-pcie", 4U, 6U},
                                          {"l40s", 4U, 6U},
                                          {"bridged-pairs", 8U, 28U},
                                          {"mig", 1U, 0U},
                                          {"one-gpu", 1U, 0U},
                                          {"localized", 2U, 1U}}) {
    const auto matrix = read_matrix(fixture(name));
    ASSERT_TRUE(matrix.has_value()) << name << ": " << matrix.error();
    EXPECT_EQ(matrix->gpus.size(), gpus) << name;
    EXPECT_EQ(matrix->pairs.size(), pairs) << name;
  }
}

TEST(ReadMatrix, TakesAnUnderlinedHeadingWhereverTheSequenceStands) {
  for (const char* heading : {"\x1b[4m\tGPU0\tGPU1\tCPU Affinity\x1b[0m\r\n", "\t\x1b[4mGPU0\x1b[0m\tGPU1\n",
                              "  GPU0 GPU1\x1b[1;4m\n", "\tGPU0\tGPU1\x1b[\n"}) {
    const auto matrix = read_matrix(heading + std::string("GPU0\t X \tSOC\r\nGPU1\tSOC\t X \n"));
    ASSERT_TRUE(matrix.has_value()) << matrix.error();
    EXPECT_EQ(links(*matrix), "GPU0-GPU1 SYS");
  }
}

TEST(ReadMatrix, KeepsTheNumbersThatGpusHave) {
  const auto matrix = read_matrix("GPU2 GPU10\nGPU2 X NV4\nGPU10 NV4 X\n");
  ASSERT_TRUE(matrix.has_value()) << matrix.error();
  EXPECT_EQ(links(*matrix), "GPU2-GPU10 NV4");
}

TEST(ReadMatrix, SaysWhatStandsInPlaceOfAMatrix) {
  struct Row {
    std::string output;
    const char* error;
  };
  for (const Row& row : {
           Row{"", "the output of nvidia-smi is empty"},
           Row{"\n \t\r\n", "the output of nvidia-smi is empty"},
           Row{"tensor=2 gpus=2\n", "the output of nvidia-smi is empty"},
           Row{"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95\n",
               "nvidia-smi shows no matrix of GPUs: Failed to initialize NVML: Driver/library version mismatch"},
           Row{"tensor=2 gpus=2\nERROR: Option topo is not recognized. Please run 'nvidia-smi -h'.\n",
               "nvidia-smi shows no matrix of GPUs: ERROR: Option topo is not recognized. Please run 'nvidia-smi -h'."},
           Row{"sh: 1: nvidia-smi: \xc3\xff\n", "nvidia-smi shows no matrix of GPUs: sh: 1: nvidia-smi: \\xC3\\xFF"},
           Row{"GPU0 X SYS\nGPU1 SYS X\n", "the matrix has no heading"},
           Row{"GPU0 GPU0\nGPU0 X X\n", "the heading of the matrix names GPU0 twice"},
           Row{"GPU0 GPU1\nGPU0 X NV4\n", "the matrix has no row of GPU1"},
           Row{"GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4", "the row of GPU1 is cut"},
           Row{"GPU0 GPU1\nGPU0 NV4 NV4\nGPU1 NV4 X\n", "the row of GPU0 has no X for itself"},
           Row{"GPU0 GPU1\nGPU0 X NV4\nGPU1 NV6 X\n", "the matrix is not the same in both directions: GPU0-GPU1"},
           Row{"GPU0 GPU1\nGPU0 X NV4\nGPU0 X NV4\n", "the matrix has a row of GPU0 in place of GPU1"},
           Row{"GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\nGPU1 NV4 X\n", "the matrix has a row of GPU1 too many"},
           Row{"GPU1 CPU\nGPU0 X NV4\nGPU1 NV4 X\n", "the matrix has a row of GPU0 in place of GPU1"},
           Row{"GPU0 GPU1\nGPU0 X NV\nGPU1 NV X\n", "GPU0-GPU1 is of an unknown kind: NV"},
           Row{"GPU0 GPU1\nGPU0 X NV0\nGPU1 NV0 X\n", "GPU0-GPU1 is of an unknown kind: NV0"},
           Row{"GPU0 GPU1\nGPU0 X X\nGPU1 X X\n", "GPU0-GPU1 is of an unknown kind: X"},
           Row{"GPU0 GPU1\nGPU0 X NV99999999999\nGPU1 NV4 X\n", "GPU0-GPU1 is of an unknown kind: NV99999999999"},
       }) {
    const auto matrix = read_matrix(row.output);
    ASSERT_FALSE(matrix.has_value()) << row.output;
    EXPECT_EQ(matrix.error(), row.error);
  }
}

TEST(ReadMatrix, QuotesLittleOfWhatItDoesNotUnderstand) {
  const auto matrix = read_matrix(std::string(100'000, 'a'));
  ASSERT_FALSE(matrix.has_value());
  EXPECT_LT(matrix.error().size(), 300U);
}

}  // namespace
}  // namespace inference::topology
