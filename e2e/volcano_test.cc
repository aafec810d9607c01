// Groups in Volcano: who holds them is found out on the real API server with LeaderWorkerSet's real webhook, and what
// we render is judged by Volcano's own definition of a PodGroup. Volcano itself comes from no package registry: the
// last test runs when $VOLCANO_BIN names a folder with its programs.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "base/source_path.h"
#include "e2e/model.h"
#include "e2e/operator_suite.h"
#include "e2e/own_cluster.h"
#include "render/fixtures.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

enum class Provider { kOff, kOn };

/// The operator asks again what the cluster serves when ten seconds have gone by.
constexpr std::chrono::seconds kRemembered{11};

class VolcanoTest : public OperatorSuite {
 protected:
  VolcanoTest() : OperatorSuite("volcano") {}
  static void SetUpTestSuite() {
    own_ = std::make_unique<OwnCluster>("volcano", std::vector<std::string>{"--nodes", "0"});
    real_ = std::make_unique<RealCluster>(own_->kubeconfig(), RealCluster::Install::kYes);
    // Before LeaderWorkerSet's provider, which can't do without.
    real_->must({"apply", "-f", source_path("e2e/volcano/podgroups.yaml")});
    real_->must({"wait", "--for=condition=Established", "--timeout=60s", "crd/podgroups.scheduling.volcano.sh"});
    start(*real_);
  }
  static void TearDownTestSuite() {
    OperatorSuite::TearDownTestSuite();
    real_.reset();
    own_.reset();
  }
  void TearDown() override {
    OperatorSuite::TearDown();
    namespace_.remove();
    if (has_nodes_) cluster_.remove_nodes(ns());
  }

  [[nodiscard]] Json group(std::int64_t replicas = 1) const {
    return model(ns(), "m",
                 {{"nodes", 2},
                  {"replicas", replicas},
                  {"accelerator", {{"product", ns()}}},
                  {"scheduling", {{"gang", "Volcano"}}}});
  }
  void add_nodes(int first, int count) {
    has_nodes_ = true;
    cluster_.add_nodes(ns(), first, count);
  }
  void with_policy() { cluster_.must({"apply", "-f", source_path("config/gang/volcano_policy.yaml")}); }
  void without_policy() {
    cluster_.must({"delete", "-f", source_path("config/gang/volcano_policy.yaml"), "--ignore-not-found"});
  }
  /// LeaderWorkerSet's manager, with its provider of Volcano on or off.
  void set_provider(Provider wanted) {
    if (wanted == provider_) return;
    const std::string file = own_->state() + "/conf/lws.yaml";
    static const std::string kOff = render::read_file(file);
    const std::string on = kOff + "gangSchedulingManagement: {schedulerProvider: volcano}\n";
    std::ofstream(file) << (wanted == Provider::kOn ? on : kOff);
    own_->command({"restart", "lws"});
    provider_ = wanted;
    std::this_thread::sleep_for(kRemembered);
  }
  /// The groups' names that admission wrote into the pods, each with the number of its pods.
  [[nodiscard]] std::map<std::string, int> groups_of_pods() {
    std::map<std::string, int> groups;
    for (const Json& pod : cluster_.list(kPod, ns())) {
      const auto annotation = "/metadata/annotations"_json_pointer / "scheduling.k8s.io/group-name";
      ++groups[pod.value(annotation, "none")];
      EXPECT_EQ(pod["spec"]["schedulerName"], "volcano");
    }
    return groups;
  }
  void expect_refused(const std::string& words) {
    EXPECT_TRUE(eventually([&] {
      return condition(object(), "Scheduled") == "False/SchedulerMissing" &&
             condition_message(object(), "Scheduled").find(words) != std::string::npos;
    })) << object().dump(1);
    EXPECT_EQ(condition(object(), "Resolved"), "False/SchedulerMissing");
    EXPECT_TRUE(cluster_.get(kLeaderWorkerSet, ns(), "m").is_null());
  }
  void expect_held_by(const std::string& holder) {
    ASSERT_TRUE(eventually([&] { return object().value("/status/resolved/podGroups"_json_pointer, "") == holder; }))
        << object().dump(1);
    EXPECT_EQ(object()["status"]["resolved"]["gang"], "Volcano");
    ASSERT_TRUE(eventually([&] { return cluster_.list(kPod, ns()).size() == 2; }));
  }

  using Groups = std::map<std::string, int>;
  static inline std::unique_ptr<OwnCluster> own_;
  static inline std::unique_ptr<RealCluster> real_;
  static inline Provider provider_ = Provider::kOff;
  bool has_nodes_ = false;
};

TEST_F(VolcanoTest, IsRefusedWhileNobodyHoldsGroupsAndTakenUpOnceThePolicyDoes) {
  set_provider(Provider::kOff);
  without_policy();
  cluster_.apply(group());
  expect_refused("nobody would give the pods of a group one PodGroup");

  with_policy();
  expect_held_by("Operator");
  EXPECT_EQ(groups_of_pods(), (Groups{{"m-0", 2}}));
  const Json held = cluster_.get(kVolcanoPodGroup, ns(), "m-0");
  EXPECT_EQ(held["spec"]["minMember"], 2);
  EXPECT_EQ(held["spec"]["minResources"]["nvidia.com/gpu"], "16");
  EXPECT_EQ(held["metadata"]["ownerReferences"][0]["kind"], "InferenceDeployment");

  // A group less takes its PodGroup along.
  cluster_.apply(group(2));
  EXPECT_TRUE(eventually([&] { return cluster_.list(kVolcanoPodGroup, ns()).size() == 2; }));
  cluster_.apply(group(1));
  EXPECT_TRUE(eventually([&] { return cluster_.list(kVolcanoPodGroup, ns()).size() == 1; }));
}

TEST_F(VolcanoTest, IsLeftToLeaderWorkerSetsProviderAndStaysSoForGroupsThatRun) {
  with_policy();
  set_provider(Provider::kOn);
  cluster_.apply(group());
  expect_held_by("LeaderWorkerSet");
  const auto groups = groups_of_pods();
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_TRUE(groups.begin()->first.starts_with("m-0-")) << groups.begin()->first;
  ASSERT_TRUE(eventually([&] { return cluster_.list(kVolcanoPodGroup, ns()).size() == 1; }));
  const Json held = cluster_.list(kVolcanoPodGroup, ns())[0];
  EXPECT_EQ(held["metadata"]["name"], groups.begin()->first) << "the one of LeaderWorkerSet, and none of ours";
  EXPECT_EQ(held["spec"]["minMember"], 2);
  EXPECT_EQ(held["spec"]["minResources"]["nvidia.com/gpu"], "16");

  // The provider goes, and the policy would hold new groups. Those that run are not made anew for it.
  const Json before = cluster_.get(kLeaderWorkerSet, ns(), "m");
  set_provider(Provider::kOff);
  Json labeled = group();
  labeled["metadata"]["labels"] = {{"look", "again"}};
  cluster_.apply(labeled);
  EXPECT_TRUE(eventually([&] {
    return condition_message(object(), "Resolved").find("GangNotServed") != std::string::npos;
  })) << object().dump(1);
  EXPECT_EQ(object()["status"]["resolved"]["podGroups"], "LeaderWorkerSet");
  EXPECT_EQ(cluster_.get(kLeaderWorkerSet, ns(), "m")["metadata"]["generation"], before["metadata"]["generation"]);
}

TEST_F(VolcanoTest, SaysThatItDoesNotKnowWhoHoldsGroupsWithoutTheRightToTry) {
  with_policy();
  set_provider(Provider::kOff);
  cluster_.must({"delete", "rolebinding", "inference-operator-gang-probe", "-n", "inference-system"});
  std::this_thread::sleep_for(kRemembered);
  cluster_.apply(group());
  expect_refused("could not be found out");
  cluster_.must({"apply", "-f", source_path("config/rbac/gang_probe_role.yaml")});
  expect_held_by("Operator");
}

/// One of Volcano's programs while it runs.
class Program {
 public:
  explicit Program(const std::vector<std::string>& command)
      : pid_(render::start(command, {{"PATH", "/usr/bin:/bin"}}, log_, log_)) {}
  ~Program() {
    kill(pid_, SIGKILL);
    (void)render::wait_for(pid_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

 private:
  const std::string log_ = "/tmp/inference-operator-volcano.log";
  pid_t pid_;
};

TEST_F(VolcanoTest, PlacesGroupsWholeWhoeverHoldsThem) {
  const char* folder = std::getenv("VOLCANO_BIN");
  if (folder == nullptr) {
    GTEST_SKIP() << "VOLCANO_BIN names no folder with volcano-scheduler, volcano-controller-manager and crd/*.yaml "
                    "(its config/crd/volcano/bases and config/crd/jobflow/bases)";
  }
  const std::string bin = folder;
  cluster_.must({"apply", "--server-side", "--force-conflicts", "-f", bin + "/crd"});
  (void)cluster_.kubectl({"create", "namespace", "volcano-system"});
  const std::string settings = own_->state() + "/conf/volcano-scheduler.conf";
  std::ofstream(settings) << "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n"
                             "  - name: gang\n  - name: conformance\n- plugins:\n  - name: overcommit\n  - name: drf\n"
                             "  - name: predicates\n  - name: proportion\n  - name: nodeorder\n  - name: binpack\n";
  const Program manager({bin + "/volcano-controller-manager", "--kubeconfig", own_->kubeconfig(),
                         "--leader-elect=false", "--listen-address=127.0.0.1:0", "--enable-healthz=false"});
  const Program scheduler({bin + "/volcano-scheduler", "--kubeconfig", own_->kubeconfig(),
                           "--scheduler-conf=" + settings, "--leader-elect=false", "--listen-address=127.0.0.1:0",
                           "--enable-healthz=false"});
  const auto placed = [&] {
    int count = 0;
    for (const Json& pod : cluster_.list(kPod, ns())) count += pod["spec"].contains("nodeName") ? 1 : 0;
    return count;
  };
  with_policy();
  int nodes = 0;
  for (const Provider provider : {Provider::kOff, Provider::kOn}) {
    set_provider(provider);
    add_nodes(nodes++, 1);
    cluster_.apply(group());
    ASSERT_TRUE(eventually([&] { return condition(object(), "Scheduled").starts_with("False/"); })) << object().dump(1);
    EXPECT_EQ(placed(), 0);
    add_nodes(nodes++, 1);
    EXPECT_TRUE(eventually([&] { return condition(object(), "Ready") == "True/AllReplicasReady"; }))
        << object().dump(1);
    cluster_.remove(kInferenceDeployment, ns(), "m");
    ASSERT_TRUE(eventually([&] { return cluster_.list(kPod, ns()).empty(); }));
    cluster_.remove_nodes(ns());
    ASSERT_TRUE(eventually([&] { return cluster_.list(kNode, "", "nvidia.com/gpu.product=" + ns()).empty(); }));
  }
}

}  // namespace
}  // namespace inference::e2e
