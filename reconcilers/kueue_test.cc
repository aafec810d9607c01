// Which changes Kueue does not take, and what is told when it takes no part at all.

#include "reconcilers/kueue.h"

#include <gtest/gtest.h>

namespace inference::reconcilers {
namespace {

using namespace nlohmann::literals;

Json pod_template() {
  return {{"metadata", {{"labels", {{"a", "b"}}}}},
          {"spec",
           {{"tolerations", {{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}}}},
            {"nodeSelector", {{"nvidia.com/gpu.product", "H100"}}},
            {"containers",
             {{{"name", "engine"},
               {"image", "vllm:1"},
               {"args", {"--x"}},
               {"resources", {{"requests", {{"memory", "1Gi"}}}, {"limits", {{"memory", "1Gi"}}}}},
               {"ports", {{{"name", "http"}, {"containerPort", 8000}, {"protocol", "TCP"}}}}}}}}}};
}

Json group_set() {
  return {{"kind", "LeaderWorkerSet"},
          {"metadata", {{"name", "m"}, {"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}}}},
          {"spec",
           {{"replicas", 2},
            {"leaderWorkerTemplate",
             {{"size", 2}, {"leaderTemplate", pod_template()}, {"workerTemplate", pod_template()}}}}}};
}

/// As Kueue's webhook leaves it.
Json taken() {
  Json live = group_set();
  live["/spec/leaderWorkerTemplate/workerTemplate/metadata/annotations"_json_pointer] = {
      {"kueue.x-k8s.io/pod-suspending-parent", "leaderworkerset.x-k8s.io/leaderworkerset"},
      {"kueue.x-k8s.io/pod-group-serving", "true"}};
  return live;
}

struct Row {
  const char* says;
  std::function<void(Json&)> change;
  std::optional<std::string> field;
};

TEST(MustRecreate, IsTrueOfWhatKueueRefusesAndOfWhatWedgesItAndOfNothingElse) {
  const std::string worker = "/spec/leaderWorkerTemplate/workerTemplate/spec";
  const std::string path = "spec.leaderWorkerTemplate.workerTemplate.spec.";
  const auto set = [](const std::string& pointer, const Json& value) {
    return [=](Json& object) { object[Json::json_pointer(pointer)] = value; };
  };
  const Row rows[] = {
      {"nothing changes", [](Json&) {}, {}},
      {"replicas", set("/spec/replicas", 3), {}},
      {"an image", set(worker + "/containers/0/image", "vllm:2"), {}},
      {"arguments", set(worker + "/containers/0/args", {"--y"}), {}},
      {"limits alone", set(worker + "/containers/0/resources/limits/memory", "2Gi"), {}},
      {"a quantity that is written otherwise", set(worker + "/containers/0/resources/requests/memory", "1024Mi"), {}},
      {"labels of the pods", set("/spec/leaderWorkerTemplate/workerTemplate/metadata/labels/a", "c"), {}},
      {"requests", set(worker + "/containers/0/resources/requests/memory", "2Gi"),
       path + "containers[0].resources.requests.memory"},
      {"one more request", set(worker + "/containers/0/resources/requests/rdma~1hca", "1"),
       path + "containers[0].resources.requests.rdma/hca"},
      {"one request less",
       [&](Json& object) { object[Json::json_pointer(worker + "/containers/0/resources/requests")].erase("memory"); },
       path + "containers[0].resources.requests.memory"},
      {"ports", set(worker + "/containers/0/ports/0/containerPort", 8001), path + "containers[0].ports[0]"},
      {"one container more", set(worker + "/containers/1", {{"name", "sidecar"}, {"image", "x"}}),
       path + "containers[1]"},
      {"the node selector", set(worker + "/nodeSelector/zone", "a"), path + "nodeSelector"},
      {"no node selector any more", [&](Json& object) { object[Json::json_pointer(worker)].erase("nodeSelector"); },
       path + "nodeSelector"},
      {"tolerations", set(worker + "/tolerations/0/key", "x"), path + "tolerations[0].key"},
      {"the size", set("/spec/leaderWorkerTemplate/size", 3), "spec.leaderWorkerTemplate.size"},
      {"another queue", set("/metadata/labels/kueue.x-k8s.io~1queue-name", "other"),
       "metadata.labels.kueue.x-k8s.io/queue-name"},
      {"no queue any more", [](Json& object) { object["metadata"].erase("labels"); },
       "metadata.labels.kueue.x-k8s.io/queue-name"},
  };
  for (const Row& row : rows) {
    Json desired = group_set();
    row.change(desired);
    EXPECT_EQ(must_recreate(taken(), desired), row.field) << row.says;
  }
}

TEST(MustRecreate, KnowsAQueueThatIsNewAndLeavesAloneWhatHasNone) {
  Json without = group_set();
  without["metadata"].erase("labels");
  EXPECT_EQ(must_recreate(without, group_set()), "metadata.labels.kueue.x-k8s.io/queue-name");
  Json larger = without;
  larger["spec"]["leaderWorkerTemplate"]["size"] = 4;
  EXPECT_EQ(must_recreate(without, larger), std::nullopt);
}

TEST(MustRecreate, LetsADeploymentChangeAllButItsQueue) {
  Json live = {{"kind", "Deployment"},
               {"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}}}},
               {"spec", {{"template", pod_template()}}}};
  Json desired = live;
  desired["/spec/template/spec/containers/0/resources/requests/memory"_json_pointer] = "2Gi";
  EXPECT_EQ(must_recreate(live, desired), std::nullopt);
  desired["/metadata/labels"_json_pointer] = {{"kueue.x-k8s.io/queue-name", "other"}};
  EXPECT_EQ(must_recreate(live, desired), "metadata.labels.kueue.x-k8s.io/queue-name");
}

TEST(UntakenByKueue, IsToldOnceAWorkloadWithAQueueIsThereWithoutKueuesMark) {
  render::Rendered rendered;
  rendered.objects = {group_set()};
  const auto told = [&](const std::vector<Json>& live) {
    std::vector<LiveChild> children;
    for (const Json& object : live)
      children.push_back({client::resources::kLeaderWorkerSet, std::make_shared<const Json>(object)});
    return untaken_by_kueue(rendered, children).has_value();
  };
  EXPECT_FALSE(told({}));
  EXPECT_FALSE(told({taken()}));
  EXPECT_TRUE(told({group_set()}));
  rendered.objects[0]["metadata"].erase("labels");
  EXPECT_FALSE(told({group_set()}));
}

}  // namespace
}  // namespace inference::reconcilers
