#include "reconcilers/plan.h"

#include <gtest/gtest.h>

#include "operator/runtime/object_meta.h"
#include "reconcilers/children.h"
#include "render/template_set.h"

namespace inference::reconcilers {
namespace {

const render::ClusterFacts kEverything{
    .leader_worker_set = true, .native_gang = true, .volcano = render::VolcanoGroups::kLeaderWorkerSet, .dra = true};

Json model(std::int64_t nodes) {
  return {{"apiVersion", crd::kApiVersion},
          {"kind", crd::kInferenceDeploymentKind},
          {"metadata", {{"name", "m"}, {"namespace", "llm"}, {"uid", "u-1"}, {"generation", 1}}},
          {"spec",
           {{"model", {{"uri", "file:///models/m"}}},
            {"parallelism", {{"tensor", 8}}},
            {"nodes", nodes},
            {"replicas", 2}}}};
}

Json queued(std::int64_t nodes) {
  Json object = model(nodes);
  object["spec"]["scheduling"] = {{"gang", "Kueue"}, {"queue", "lq"}};
  return object;
}

Observed observe(const Json& object, std::vector<LiveChild> children = {}) {
  auto decoded = crd::decode_inference_deployment(object);
  Observed observed{.object = std::make_shared<const Json>(object),
                    .deployment = std::unexpected(render::Refusal{}),
                    .profile = std::nullopt,
                    .children = std::move(children),
                    .pods = {}};
  if (decoded) {
    observed.deployment = std::move(*decoded);
  } else {
    observed.deployment = std::unexpected(render::Refusal{"InvalidSpec", decoded.error()});
  }
  return observed;
}

Plan plan_for(const Observed& observed, const render::ClusterFacts& facts = kEverything) {
  return make_plan(observed, facts, render::TemplateSet::embedded());
}

/// The children as they stand once the plan was carried out.
std::vector<LiveChild> carried_out(const Plan& plan) {
  std::vector<LiveChild> children;
  for (const Write& write : plan.writes)
    children.push_back({write.resource, std::make_shared<const Json>(write.object)});
  return children;
}

TEST(Plan, KeepsTheNextPodsOfAGroupThatFailsFromBeingPlaced) {
  const auto min_counts = [](const Plan& plan) {
    std::map<std::string, Json> counts;
    for (const Json& object : plan.rendered->objects) {
      if (object["kind"] == "PodGroup")
        counts[object["metadata"]["name"]] = object["spec"]["schedulingPolicy"]["gang"]["minCount"];
    }
    return counts;
  };
  Observed observed = observe(model(2));
  EXPECT_EQ(min_counts(plan_for(observed)), (std::map<std::string, Json>{{"m-0", 2}, {"m-1", 2}}));
  FailingGroup failing;
  failing.index = 1;
  observed.groups = GroupRestarts{.total = 2, .failing = {failing}};
  EXPECT_EQ(min_counts(plan_for(observed)), (std::map<std::string, Json>{{"m-0", 2}, {"m-1", 2}}));
  observed.groups->failing[0].held = true;
  EXPECT_EQ(min_counts(plan_for(observed)), (std::map<std::string, Json>{{"m-0", 2}, {"m-1", 3}}));
}

TEST(Plan, WritesEverythingForANewObject) {
  const Plan plan = plan_for(observe(model(1)));
  ASSERT_TRUE(plan.rendered);
  EXPECT_EQ(plan.writes.size(), plan.rendered->objects.size());
  for (const Write& write : plan.writes) {
    EXPECT_FALSE(write.cached);
    EXPECT_TRUE(is_controlled_by(write.object, "u-1"));
  }
  EXPECT_TRUE(plan.removals.empty());
}

TEST(Plan, FindsNothingToDoOnceItIsCarriedOut) {
  for (const std::int64_t nodes : {1, 2}) {
    const Json object = model(nodes);
    const Plan again = plan_for(observe(object, carried_out(plan_for(observe(object)))));
    EXPECT_TRUE(again.writes.empty()) << again.writes.front().why;
    EXPECT_TRUE(again.removals.empty());
  }
}

TEST(Plan, RepairsWhatSomeoneEdited) {
  auto children = carried_out(plan_for(observe(model(1))));
  for (LiveChild& child : children) {
    if (child.resource.kind != "Deployment") continue;
    Json edited = *child.object;
    edited["spec"]["replicas"] = 0;
    child.object = std::make_shared<const Json>(edited);
  }
  const Plan plan = plan_for(observe(model(1), children));
  ASSERT_EQ(plan.writes.size(), 1U);
  EXPECT_TRUE(plan.writes[0].cached);
  EXPECT_EQ(plan.writes[0].why, "changed at spec.replicas");
}

TEST(Plan, ReplacesTheDeploymentByAGroupWhenNodesGrows) {
  const Plan plan = plan_for(observe(model(2), carried_out(plan_for(observe(model(1))))));
  ASSERT_EQ(plan.removals.size(), 1U);
  EXPECT_EQ(plan.removals[0].resource.kind, "Deployment");
  EXPECT_TRUE(
      std::ranges::any_of(plan.writes, [](const Write& write) { return write.resource.kind == "LeaderWorkerSet"; }));
}

TEST(Plan, ARefusedSpecTouchesNothingThatRuns) {
  auto children = carried_out(plan_for(observe(model(1))));
  Json object = model(1);
  object["spec"]["model"]["uri"] = "hf://org/model";
  Plan plan = plan_for(observe(object, children));
  ASSERT_TRUE(plan.refusal);
  EXPECT_EQ(plan.refusal->reason, "NotSupported");
  object["spec"]["nodes"] = "two";
  plan = plan_for(observe(object, children));
  ASSERT_TRUE(plan.refusal);
  EXPECT_EQ(plan.refusal->reason, "InvalidSpec");
  EXPECT_TRUE(plan.writes.empty() && plan.removals.empty());
}

TEST(Plan, KeepsTheGangThatLivingGroupsGotAndChoosesAfreshForAModelThatBecomesOne) {
  const auto has_pod_groups = [](const char* kind) {
    Json object = model(2);
    object["status"] = {{"resolved", {{"gang", "None"}}}, {"workload", {{"kind", kind}}}};
    const Plan plan = plan_for(observe(object));
    return std::ranges::any_of(plan.writes, [](const Write& write) { return write.resource.kind == "PodGroup"; });
  };
  EXPECT_FALSE(has_pod_groups("LeaderWorkerSet"));
  EXPECT_TRUE(has_pod_groups("Deployment"));
}

Json claiming(const char* memory, std::int64_t nodes = 1) {
  Json object = model(nodes);
  object["spec"]["accelerator"] = {{"mode", "DRA"}, {"claim", {{"memory", memory}}}};
  return object;
}

std::string claim_template(const Plan& plan) {
  for (const Json& object : plan.rendered->objects) {
    if (object["kind"] == "ResourceClaimTemplate") return object["metadata"]["name"];
  }
  return {};
}

/// What stood before with what `plan` has written over it, and a workload that says `status` of itself.
std::vector<LiveChild> rolling(std::vector<LiveChild> children, const Plan& plan, const Json& status) {
  for (LiveChild& written : carried_out(plan)) {
    std::erase_if(children, [&](const LiveChild& child) {
      return child.resource == written.resource && runtime::ref_of(*child.object) == runtime::ref_of(*written.object);
    });
    children.push_back(std::move(written));
  }
  for (LiveChild& child : children) {
    if (child.resource.kind != "Deployment" && child.resource.kind != "LeaderWorkerSet") continue;
    Json object = *child.object;
    object["metadata"]["generation"] = 2;
    object["status"] = status;
    child.object = std::make_shared<const Json>(object);
  }
  return children;
}

TEST(Plan, KeepsAClaimTemplateUntilNoPodCanNeedIt) {
  for (const std::int64_t nodes : {1, 2}) {
    const Plan first = plan_for(observe(claiming("40Gi", nodes)));
    const std::string old_name = claim_template(first);
    const auto before = carried_out(first);
    const Plan second = plan_for(observe(claiming("80Gi", nodes), before));
    EXPECT_NE(claim_template(second), old_name) << "its spec can't be changed";
    EXPECT_TRUE(second.removals.empty()) << "no pod has been replaced yet";

    const auto after = [&](const Json& status, std::vector<Object> pods) {
      Observed observed = observe(claiming("80Gi", nodes), rolling(before, second, status));
      observed.pods = std::move(pods);
      return plan_for(observed);
    };
    const auto pod = [](const std::string& of) {
      return std::make_shared<const Json>(
          Json{{"spec", {{"resourceClaims", {{{"name", "gpus"}, {"resourceClaimTemplateName", of}}}}}}});
    };
    const Json going_on = {{"observedGeneration", 2}, {"replicas", 2}, {"updatedReplicas", 1}};
    const Json done = {{"observedGeneration", 2}, {"replicas", 2}, {"updatedReplicas", 2}};
    EXPECT_TRUE(after(going_on, {}).removals.empty()) << "a pod of the old revision may be made anew";
    EXPECT_TRUE(after(done, {pod(old_name)}).removals.empty()) << "a pod of the old revision drains";
    const Plan last = after(done, {pod(claim_template(second))});
    ASSERT_EQ(last.removals.size(), 1U);
    EXPECT_EQ(last.removals[0].ref.name, old_name);
    EXPECT_TRUE(last.writes.empty()) << last.writes.front().why;
  }
}

TEST(Plan, NamesAClaimTemplateByItsContent) {
  const std::string name = claim_template(plan_for(observe(claiming("40Gi"))));
  EXPECT_TRUE(name.starts_with("m-gpus-")) << name;
  EXPECT_EQ(name, claim_template(plan_for(observe(claiming("40Gi")))));
  Json other = claiming("40Gi");
  other["spec"]["replicas"] = 5;
  EXPECT_EQ(name, claim_template(plan_for(observe(other)))) << "what does not change the claim rolls nothing";
  other["spec"]["parallelism"]["tensor"] = 4;
  EXPECT_NE(name, claim_template(plan_for(observe(other))));
}

TEST(Plan, AsksForTheClustersFactsOnlyWhereTheyMatter) {
  EXPECT_FALSE(needs_cluster_facts(observe(model(1))));
  EXPECT_TRUE(needs_cluster_facts(observe(model(2))));
  EXPECT_TRUE(needs_cluster_facts(observe(queued(1))));
  EXPECT_TRUE(needs_cluster_facts(observe(claiming("40Gi"))));
  Observed by_profile = observe(model(1));
  crd::InferenceProfile profile;
  profile.defaults.accelerator.mode = crd::AcceleratorMode::kDra;
  by_profile.profile = profile;
  EXPECT_TRUE(needs_cluster_facts(by_profile));
}

TEST(Plan, AsksForTheQueueOnlyWhereKueueMayHoldThePods) {
  EXPECT_EQ(queue_of(observe(queued(1))), "lq");
  const auto queue = [](std::int64_t nodes, const char* gang, const Json& status) {
    Json object = queued(nodes);
    object["spec"]["scheduling"]["gang"] = gang;
    object["status"] = status;
    return queue_of(observe(object)).value_or("none");
  };
  const auto recorded = [](const char* gang) -> Json {
    return {{"resolved", {{"gang", gang}}}, {"workload", {{"kind", "LeaderWorkerSet"}}}};
  };
  EXPECT_EQ(queue(2, "Auto", Json::object()), "lq");
  EXPECT_EQ(queue(2, "Auto", recorded("Kueue")), "lq");
  EXPECT_EQ(queue(2, "Auto", recorded("Gates")), "none");
  EXPECT_EQ(queue(2, "Kueue", recorded("Gates")), "lq");
  EXPECT_EQ(queue(1, "Auto", Json::object()), "none");
  EXPECT_EQ(queue(2, "Native", Json::object()), "none");
}

const Write& workload_of(const Plan& plan) {
  const auto found =
      std::ranges::find_if(plan.writes, [](const Write& write) { return write.resource.kind == "LeaderWorkerSet"; });
  EXPECT_NE(found, plan.writes.end());
  return *found;
}

TEST(Plan, MakesTheGroupsOfKueueAnewForWhatWeRenderAndNotForWhatOthersChange) {
  const render::ClusterFacts kueue{.leader_worker_set = true, .kueue = true};
  auto children = carried_out(plan_for(observe(queued(2)), kueue));
  EXPECT_EQ(workload_of(plan_for(observe(queued(3), children), kueue)).recreation->why,
            "spec.leaderWorkerTemplate.size");
  Json scaled = queued(2);
  scaled["spec"]["replicas"] = 3;
  EXPECT_FALSE(workload_of(plan_for(observe(scaled, children), kueue)).recreation);

  for (LiveChild& child : children) {
    if (child.resource.kind != "LeaderWorkerSet") continue;
    Json edited = *child.object;
    edited["spec"]["leaderWorkerTemplate"]["size"] = 4;
    child.object = std::make_shared<const Json>(edited);
  }
  EXPECT_FALSE(workload_of(plan_for(observe(queued(2), children), kueue)).recreation);
}

TEST(Plan, WritesNothingOverAChildThatIsBeingDeleted) {
  auto children = carried_out(plan_for(observe(model(1))));
  for (LiveChild& child : children) {
    if (child.resource.kind != "Deployment") continue;
    Json going = *child.object;
    going["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z";
    child.object = std::make_shared<const Json>(going);
  }
  Json changed = model(1);
  changed["spec"]["replicas"] = 3;
  const Plan plan = plan_for(observe(changed, children));
  EXPECT_TRUE(plan.awaits_end);
  EXPECT_TRUE(
      std::ranges::none_of(plan.writes, [](const Write& write) { return write.resource.kind == "Deployment"; }));
}

}  // namespace
}  // namespace inference::reconcilers
