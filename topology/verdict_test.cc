#include "topology/verdict.h"

#include <gtest/gtest.h>

#include "topology/fixtures.h"

namespace inference::topology {
namespace {

std::string given(std::size_t tensor, std::size_t gpus) {
  return "tensor=" + std::to_string(tensor) + " gpus=" + std::to_string(gpus) + "\n";
}

/// Two GPUs as a pod sees them.
std::string two(const std::string& link) {
  return given(2, 2) + "\tGPU0\tGPU1\nGPU0\t X \t" + link + "\nGPU1\t" + link + "\t X \n";
}

TEST(Judge, DecidesByNamedRules) {
  struct Row {
    const char* says;
    std::string text;
    Answer answer;
    const char* reason;
    const char* part;  // of the message
  };
  const Row rows[] = {
      {"NVSwitch", given(8, 8) + fixture("h100-sxm"), Answer::kGood, "NVLink", "NV18"},
      {"bridges over two sockets", given(4, 4) + fixture("a100-pcie"), Answer::kBad, "CrossesSYS",
       "GPU0-GPU2, GPU0-GPU3, GPU1-GPU2, GPU1-GPU3 can only"},
      {"a stage on each socket", given(2, 4) + fixture("a100-pcie"), Answer::kGood, "NVLink", "NV12"},
      {"PCIe on two sockets", given(4, 4) + fixture("l40s"), Answer::kBad, "CrossesSYS", "GPU0-GPU2"},
      {"PCIe on two sockets, no number given", fixture("l40s"), Answer::kBad, "CrossesSYS", "GPU0-GPU2"},
      {"PCIe below one socket", given(4, 4) + fixture("pcie-switches"), Answer::kGood, "SameSocket",
       "linked by PIX, PXB, PHB, NODE"},
      {"whole node of pairs", given(8, 8) + fixture("bridged-pairs"), Answer::kBad, "CrossesSYS", "and 8 more"},
      {"tensor ranks do not divide the GPUs", given(3, 4) + fixture("l40s"), Answer::kBad, "CrossesSYS", "GPU1-GPU2"},
      {"two GPUs that are no pair", two("SYS"), Answer::kBad, "CrossesSYS", "GPU0-GPU1 can only meet"},
      {"a pair", two("NV12"), Answer::kGood, "NVLink", "NV12"},
      {"PIX", two("PIX"), Answer::kGood, "SameSocket", "PIX"},
      {"PHB", two("PHB"), Answer::kGood, "SameSocket", "PHB"},
      {"NODE", two("NODE"), Answer::kGood, "SameSocket", "NODE"},
      {"one GPU", given(1, 1) + fixture("one-gpu"), Answer::kGood, "SingleGPU", "no two GPUs"},
      {"each GPU is a stage of its own", given(1, 8) + fixture("bridged-pairs"), Answer::kGood, "SingleGPU", ""},
      {"one GPU of which there are instances", given(1, 1) + fixture("mig"), Answer::kGood, "SingleGPU", ""},
      {"two instances of one GPU", given(2, 2) + fixture("mig"), Answer::kUnknown, "NotReadable",
       "shows 1 GPU where the pod has 2"},
      {"the node's GPUs in place of the pod's", given(2, 2) + fixture("bridged-pairs"), Answer::kUnknown, "NotReadable",
       "shows 8 GPUs where the pod has 2"},
      {"another language", given(2, 2) + fixture("localized"), Answer::kGood, "SameSocket", "PHB"},
      {"nothing", "", Answer::kUnknown, "NotReadable", "is empty"},
      {"driver too old", given(2, 2), Answer::kUnknown, "NotReadable", "is empty"},
      {"no X", given(2, 2) + "GPU0 GPU1\nGPU0 SYS\nGPU1 SYS\n", Answer::kUnknown, "NotReadable", "no X"},
      {"numbers that are none", "tensor=x gpus=-1\n" + fixture("one-gpu"), Answer::kGood, "SingleGPU", ""},
  };
  for (const Row& row : rows) {
    const Verdict verdict = judge(read_record(row.text));
    EXPECT_EQ(verdict.answer, row.answer) << row.says;
    EXPECT_EQ(verdict.reason, row.reason) << row.says;
    EXPECT_NE(verdict.message.find(row.part), std::string::npos) << row.says << ": " << verdict.message;
    EXPECT_EQ(verdict.crossing.empty(), row.answer != Answer::kBad) << row.says;
  }
}

TEST(Judge, NeverClaimsNvLinkWhereOnePairLacksIt) {
  const Verdict verdict = judge(read_record("GPU0 GPU1 GPU2\nGPU0 X NV4 PHB\nGPU1 NV4 X NODE\nGPU2 PHB NODE X\n"));
  EXPECT_EQ(verdict.reason, "SameSocket");
  EXPECT_EQ(verdict.message, "every pair of GPUs that shares layers is linked by NV4, PHB, NODE");
}

/// A termination message keeps the last 4096 bytes, a pipe that breaks the first: neither may turn the answer round.
TEST(Judge, OutputThatIsCutAnywhereIsUnreadableOrStillRight) {
  for (const char* name : {"a100-pcie", "l40s", "pcie-switches", "bridged-pairs", "localized"}) {
    const std::string whole = fixture(name);
    const std::string right = judge(read_record(whole)).reason;
    for (std::size_t at = 0; at <= whole.size(); ++at) {
      for (const std::string& part : {whole.substr(0, at), whole.substr(at)}) {
        const Verdict verdict = judge(read_record(part));
        ASSERT_TRUE(verdict.answer == Answer::kUnknown || verdict.reason == right)
            << name << " at " << at << ": " << verdict.reason;
      }
    }
  }
}

}  // namespace
}  // namespace inference::topology
