#include "e2e/own_cluster.h"

#include <gtest/gtest.h>

#include "e2e/real_cluster.h"

namespace inference::e2e {

OwnCluster::OwnCluster(const std::string& name, const std::vector<std::string>& flags)
    : state_(environment("INFERENCE_TEST_STATE") + "-" + name) {
  std::vector<std::string> words = {"up"};
  words.insert(words.end(), flags.begin(), flags.end());
  command(words);
}

OwnCluster::~OwnCluster() {
  (void)run({environment("INFERENCE_TEST_CLUSTER"), "down", "--state", state_, "--keep-logs"});
}

void OwnCluster::command(const std::vector<std::string>& words) const {
  std::vector<std::string> all = {environment("INFERENCE_TEST_CLUSTER")};
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), {"--state", state_});
  const Output output = run(all);
  EXPECT_EQ(output.exit_code, 0) << words.front() << ": " << output.text;
}

}  // namespace inference::e2e
