#include "audit/workload.h"

#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

std::optional<Workload> read(const char* yaml) {
  return read_workload(objects_of(yaml).front());
}

TEST(Workload, ReadsThePodTemplateOfEachKind) {
  struct Case {
    const char* yaml;
    const char* pointer;
    Role role;
    std::int64_t replicas;
  };
  const std::vector<Case> cases = {
      {"{apiVersion: v1, kind: Pod, spec: {containers: []}}", "", Role::kServer, 1},
      {"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {}}}}", "/spec/template",
       Role::kServer, 3},
      {"{apiVersion: apps/v1, kind: StatefulSet, spec: {template: {spec: {}}}}", "/spec/template", Role::kServer, 1},
      {"{apiVersion: apps/v1, kind: DaemonSet, spec: {template: {spec: {}}}}", "/spec/template", Role::kServer, 2},
      {"{apiVersion: apps/v1, kind: ReplicaSet, spec: {template: {spec: {}}}}", "/spec/template", Role::kServer, 1},
      {"{apiVersion: batch/v1, kind: Job, spec: {parallelism: 4, template: {spec: {}}}}", "/spec/template", Role::kTask,
       4},
      {"{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {}}}}}}",
       "/spec/jobTemplate/spec/template", Role::kTask, 1},
  };
  for (const Case& row : cases) {
    const auto workload = read(row.yaml);
    ASSERT_TRUE(workload) << row.yaml;
    ASSERT_EQ(workload->templates.size(), 1U) << row.yaml;
    EXPECT_EQ(workload->templates[0].pointer, row.pointer) << row.yaml;
    EXPECT_EQ(workload->templates[0].role, row.role) << row.yaml;
    EXPECT_EQ(workload->replicas, row.replicas) << row.yaml;
  }
}

TEST(Workload, ReadsLeaderAndWorkersOfAGroup) {
  const auto group = read_workload(std::make_shared<const Json>(good_group()));
  ASSERT_TRUE(group);
  EXPECT_EQ(group->title(), "LeaderWorkerSet llm/big");
  EXPECT_EQ(group->group_size, 2);
  ASSERT_EQ(group->templates.size(), 2U);
  EXPECT_EQ(group->templates[0].role, Role::kLeader);
  EXPECT_EQ(group->templates[1].role, Role::kWorker);
  const Json alone = without(good_group(), "/spec/leaderWorkerTemplate/leaderTemplate");
  const auto same = read_workload(std::make_shared<const Json>(alone));
  ASSERT_EQ(same->templates.size(), 1U);
  EXPECT_EQ(same->templates[0].role, Role::kLeader) << "the leader is made from the workers' template";
}

TEST(Workload, TellsInitContainersSidecarsAndTheRestApart) {
  const auto pod = read(
      "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}], initContainers: [{name: b}, {name: c, "
      "restartPolicy: "
      "Always}]}}");
  ASSERT_TRUE(pod);
  const auto& containers = pod->templates[0].containers;
  ASSERT_EQ(containers.size(), 3U);
  EXPECT_EQ(containers[0].title(), "init container b");
  EXPECT_EQ(containers[1].title(), "sidecar c");
  EXPECT_EQ(containers[2].title(), "container a");
  EXPECT_EQ(containers[2].pointer, "/spec/containers/0");
}

TEST(Workload, TakesNothingForAWorkloadThatIsNone) {
  for (const char* yaml :
       {"{apiVersion: v1, kind: Service, spec: {}}", "{apiVersion: apps/v1, kind: Pod, spec: {}}",
        "{apiVersion: example.com/v1, kind: Deployment, spec: {template: {spec: {}}}}",
        "{apiVersion: apps/v1, kind: Deployment}", "{apiVersion: apps/v1, kind: Deployment, spec: 7}",
        "{apiVersion: apps/v1, kind: Deployment, spec: {template: [1]}}", "[1, 2]", "text", "{kind: {}}"})
    EXPECT_FALSE(read(yaml)) << yaml;
}

TEST(Workload, CountsWhatIsNoNumberAsAbsent) {
  const auto workload = read("{apiVersion: apps/v1, kind: Deployment, spec: {replicas: many, template: {spec: {}}}}");
  EXPECT_EQ(workload->replicas, 1);
}

}  // namespace
}  // namespace inference::audit
