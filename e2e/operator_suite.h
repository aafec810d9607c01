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

  static void SetUpTestSuite() { start(RealCluster::instance()); }
  /// Instead, on another cluster, which outlives the suite.
  static void start(RealCluster& cluster) {
    shared_ = &cluster;
    process_ = std::make_unique<OperatorProcess>(cluster);
  }
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

  /// Whether every replica of what the spec says now serves.
  [[nodiscard]] bool is_ready(const std::string& name = "m") {
    const Json now = object(name);
    return condition(now, "Ready") == "True/AllReplicasReady" &&
           now["status"]["observedGeneration"] == now["metadata"]["generation"];
  }
  /// Waits until a condition of `m` is `verdict`, as `condition` writes it.
  [[nodiscard]] bool becomes(const std::string& type, const std::string& verdict) {
    const bool became = eventually([&] { return condition(object(), type) == verdict; });
    if (!became) std::cerr << type << " is no " << verdict << ": " << object().dump(1) << "\n";
    return became;
  }

  static inline RealCluster* shared_ = nullptr;
  RealCluster& cluster_ = *shared_;
  Namespace namespace_;
  static inline std::unique_ptr<OperatorProcess> process_;
};

/// The same with nodes of a product that only this test asks for, called as its namespace (RealCluster::add_nodes).
class OwnNodesSuite : public OperatorSuite {
 protected:
  using OperatorSuite::OperatorSuite;
  /// Pods first: one whose node is gone stays for a minute.
  void TearDown() override {
    OperatorSuite::TearDown();
    namespace_.remove();
    cluster_.remove_nodes(ns());
  }
};

}  // namespace inference::e2e
