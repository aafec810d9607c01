#include "reconcilers/pod_groups.h"

#include <gtest/gtest.h>

namespace inference::reconcilers {
namespace {

Object pod(const std::string& group, const std::string& judged) {
  Json pod = {{"metadata", {{"name", group + "-p"}}}, {"spec", {{"schedulingGroup", {{"podGroupName", group}}}}}};
  if (!judged.empty()) {
    pod["status"]["conditions"] = {
        {{"type", "PodScheduled"}, {"status", "False"}, {"lastTransitionTime", "2026-11-30T10:" + judged + "Z"}}};
  }
  return std::make_shared<const Json>(pod);
}

LiveChild group(const std::string& name, const Json& conditions = Json::array()) {
  Json object = {{"metadata", {{"name", name}, {"creationTimestamp", "2026-11-30T10:00:00Z"}}}};
  if (!conditions.empty()) object["status"]["conditions"] = conditions;
  return {client::resources::kPodGroup, std::make_shared<const Json>(object)};
}

const Json kTold = {{{"type", "PodGroupInitiallyScheduled"}, {"status", "False"}}};

struct Case {
  const char* name;
  std::vector<LiveChild> children;
  std::vector<Object> pods;
  std::optional<UnheededGroup> expected;
};

TEST(UnheededGroup, IsOneOfWhichNothingIsSaidThoughItsPodsWereJudged) {
  const std::vector<Case> cases = {
      {"the group was told of", {group("m-0", kTold)}, {pod("m-0", "00:05")}, {}},
      {"the scheduler has not looked", {group("m-0")}, {pod("m-0", ""), pod("m-0", "")}, {}},
      {"one of two pods was judged",
       {group("m-0")},
       {pod("m-0", ""), pod("m-0", "00:05")},
       UnheededGroup{"m-0", "2026-11-30T10:00:05Z"}},
      {"the earliest counts",
       {group("m-0", kTold), group("m-1"), group("m-2")},
       {pod("m-0", "00:01"), pod("m-1", "00:09"), pod("m-2", "00:08"), pod("m-2", "00:07")},
       UnheededGroup{"m-2", "2026-11-30T10:00:07Z"}},
      {"the pods are of no group that is ours", {group("m-0")}, {pod("other", "00:05")}, {}},
  };
  for (const Case& each : cases) EXPECT_EQ(find_unheeded_group(each.children, each.pods), each.expected) << each.name;
}

TEST(UnheededGroup, IsNotOneThatWasMadeAnewUnderItsPods) {
  Json made_later = *group("m-0").object;
  made_later["metadata"]["creationTimestamp"] = "2026-11-30T11:00:00Z";
  EXPECT_EQ(find_unheeded_group({{client::resources::kPodGroup, std::make_shared<const Json>(made_later)}},
                                {pod("m-0", "00:05")}),
            std::nullopt);
}

}  // namespace
}  // namespace inference::reconcilers
