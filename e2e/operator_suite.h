#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <string>

#include "e2e/real_cluster.h"

namespace inference::e2e {

/// One operator process for all tests of a suite, which must end in order, and a namespace for each test.
class OperatorSuite : public testing::Test {
 protected:
  /// `prefix` begins the namespace's name.
  explicit OperatorSuite(const std::string& prefix) : namespace_(cluster_, prefix) {}

  static void SetUpTestSuite() { process_ = std::make_unique<OperatorProcess>(RealCluster::instance()); }
  static void TearDownTestSuite() {
    EXPECT_EQ(process_->stop(SIGTERM), 0) << process_->log();
    process_.reset();
  }
  void TearDown() override {
    if (HasFailure()) std::cerr << process_->log().substr(0, 20000);
  }
  [[nodiscard]] const std::string& ns() const { return namespace_.name(); }
  [[nodiscard]] Json object(const std::string& name = "m") {
    return cluster_.get(client::resources::kInferenceDeployment, ns(), name);
  }

  RealCluster& cluster_ = RealCluster::instance();
  Namespace namespace_;
  static inline std::unique_ptr<OperatorProcess> process_;
};

}  // namespace inference::e2e
