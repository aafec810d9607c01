#include "reconcilers/gpus.h"

#include <gtest/gtest.h>

namespace inference::reconcilers {
namespace {

constexpr std::chrono::seconds kStartup{600};

WallTime at(const char* time) {
  return parse_rfc3339(std::string("2026-11-30T") + time + "Z").value();
}
const WallTime kNow = at("12:30:00");

struct Pod {
  std::string name;
  std::string bound = {};      // since when it has a node, empty: it has none
  std::string not_ready = {};  // since when it does not serve, empty: it does
  std::string group = {}, worker = {};
  bool leaving = false;
  std::string phase = "Running";
  std::string gpus = "8";
  std::string created = "08:00:00";
};

Object object(Json json) {
  return std::make_shared<const Json>(std::move(json));
}

Object make(const Pod& pod) {
  Json json = {
      {"metadata",
       {{"name", pod.name}, {"labels", Json::object()}, {"creationTimestamp", "2026-11-30T" + pod.created + "Z"}}},
      {"spec", {{"containers", {{{"resources", {{"requests", {{"cpu", "64"}}}}}}}}}},
      {"status", {{"phase", pod.phase}, {"conditions", Json::array()}}}};
  if (!pod.gpus.empty()) json["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = pod.gpus;
  if (!pod.group.empty())
    json["metadata"]["labels"] = {{"leaderworkerset.sigs.k8s.io/name", "m"},
                                  {"leaderworkerset.sigs.k8s.io/group-index", pod.group},
                                  {"leaderworkerset.sigs.k8s.io/worker-index", pod.worker}};
  if (pod.leaving) json["metadata"]["deletionTimestamp"] = "2026-11-30T12:29:59Z";
  const auto condition = [&](const char* type, bool holds, const std::string& since) {
    json["status"]["conditions"].push_back(
        {{"type", type}, {"status", holds ? "True" : "False"}, {"lastTransitionTime", "2026-11-30T" + since + "Z"}});
  };
  if (!pod.bound.empty()) {
    json["spec"]["nodeName"] = "n";
    condition("PodScheduled", true, pod.bound);
    condition("Ready", pod.not_ready.empty(), pod.not_ready.empty() ? pod.bound : pod.not_ready);
  } else {
    condition("PodScheduled", false, "12:00:00");
  }
  return object(json);
}

Object claim(const std::string& pod, const std::vector<std::string>& devices, const char* request = "gpus") {
  Json results = Json::array();
  for (const std::string& device : devices)
    results.push_back({{"request", request}, {"driver", "gpu.nvidia.com"}, {"pool", "n"}, {"device", device}});
  return object({{"metadata", {{"name", pod + "-gpus-x"}, {"ownerReferences", {{{"kind", "Pod"}, {"name", pod}}}}}},
                 {"status", {{"allocation", {{"devices", {{"results", results}}}}}}}});
}

Gpus read(const std::vector<Pod>& pods, const std::vector<Object>& claims = {}) {
  std::vector<Object> objects;
  for (const Pod& pod : pods) objects.push_back(make(pod));
  return read_gpus(objects, claims, kStartup, kNow);
}

TEST(Gpus, AreThoseOfPodsThatHaveANodeAndOfAllocatedClaims) {
  const Gpus gpus =
      read({{.name = "a", .bound = "12:00:00"},
            {.name = "waits"},
            {.name = "leaving", .bound = "12:00:00", .leaving = true},
            {.name = "failed", .bound = "12:00:00", .phase = "Failed"},
            {.name = "slice", .bound = "12:00:00", .gpus = "1"},
            {.name = "claims", .bound = "12:00:00", .gpus = ""}},
           {claim("claims", {"gpu-1", "gpu-0"}), claim("ranked", {"gpu-2"}, "gpus/choice-2"),
            claim("claims", {"channel-0"}, "channel"), object({{"metadata", {{"name", "unallocated"}}}})});
  EXPECT_EQ(gpus.allocated, 8 + 8 + 1 + 3);
  EXPECT_EQ(gpus.devices,
            (std::vector<std::string>{"gpu.nvidia.com/n/gpu-0", "gpu.nvidia.com/n/gpu-1", "gpu.nvidia.com/n/gpu-2"}));
  EXPECT_EQ(gpus.leaked, 0);
  EXPECT_EQ(gpus.until_leak, Duration::max());
}

struct Leak {
  const char* says;
  std::vector<Pod> pods;
  std::vector<Object> claims;
  std::int64_t leaked;
  std::vector<std::string> leaking;
  Duration until = Duration::max();
};

TEST(Gpus, LeakWhereAGroupHoldsThemForLongerThanAStartWithoutServing) {
  const std::chrono::minutes minute{1};
  for (const Leak& row : {
           Leak{"serves", {{.name = "a", .bound = "11:00:00"}}, {}, 0, {}},
           Leak{"starts", {{.name = "a", .bound = "12:25:00", .not_ready = "12:25:00"}}, {}, 0, {}, 5 * minute},
           Leak{"has never served", {{.name = "a", .bound = "12:20:00", .not_ready = "12:20:00"}}, {}, 8, {"a"}},
           Leak{"served until a while ago",
                {{.name = "a", .bound = "08:00:00", .not_ready = "12:28:00"}},
                {},
                0,
                {},
                8 * minute},
           Leak{"served until long ago", {{.name = "a", .bound = "08:00:00", .not_ready = "12:00:00"}}, {}, 8, {"a"}},
           Leak{"has no node", {{.name = "a"}}, {}, 0, {}},
           Leak{"is going", {{.name = "a", .bound = "08:00:00", .not_ready = "12:00:00", .leaving = true}}, {}, 0, {}},
           Leak{"holds devices of a claim",
                {{.name = "a", .bound = "12:00:00", .not_ready = "12:00:00", .gpus = ""}},
                {claim("a", {"gpu-0", "gpu-1"})},
                2,
                {"a"}},
           Leak{"holds nothing", {{.name = "a", .bound = "12:00:00", .not_ready = "12:00:00", .gpus = ""}}, {}, 0, {}},
           Leak{"a worker waits for a leader that has no node",
                {{.name = "m-0", .group = "0", .worker = "0"},
                 {.name = "m-0-1", .bound = "12:00:00", .group = "0", .worker = "1"}},
                {},
                8,
                {"m-0"}},
           Leak{"was made anew, and a worker of before is not gone yet",
                {{.name = "m-0", .group = "0", .worker = "0", .created = "12:29:00"},
                 {.name = "m-0-1", .bound = "08:00:00", .group = "0", .worker = "1"}},
                {},
                0,
                {},
                9 * minute},
           Leak{"a whole group, once, beside one that serves",
                {{.name = "m-0", .bound = "12:00:00", .not_ready = "12:01:00", .group = "0", .worker = "0"},
                 {.name = "m-0-1", .bound = "12:05:00", .not_ready = "12:01:00", .group = "0", .worker = "1"},
                 {.name = "m-1", .bound = "12:00:00", .group = "1", .worker = "0"},
                 {.name = "m-1-1", .bound = "12:00:00", .not_ready = "12:00:00", .group = "1", .worker = "1"}},
                {},
                16,
                {"m-0"}},
           Leak{"a group whose leader is going",
                {{.name = "m-0", .bound = "12:00:00", .group = "0", .worker = "0", .leaving = true},
                 {.name = "m-0-1", .bound = "12:00:00", .group = "0", .worker = "1"}},
                {},
                0,
                {}},
           Leak{"a group whose leader is gone",
                {{.name = "m-0-1", .bound = "12:00:00", .group = "0", .worker = "1"}},
                {},
                0,
                {}},
       }) {
    SCOPED_TRACE(row.says);
    const Gpus gpus = read(row.pods, row.claims);
    EXPECT_EQ(gpus.leaked, row.leaked);
    EXPECT_EQ(gpus.leaking, row.leaking);
    EXPECT_EQ(gpus.until_leak, row.until);
  }
}

TEST(Gpus, LeakOnlyWhereTheStartsTimeIsKnown) {
  const auto pod = make({.name = "a", .bound = "12:00:00", .not_ready = "12:00:00"});
  const Gpus gpus = read_gpus({pod}, {}, std::chrono::seconds{0}, kNow);
  EXPECT_EQ(gpus.leaked, 0);
  EXPECT_EQ(gpus.until_leak, Duration::max());
}

TEST(Gpus, NameNoMoreDevicesThanAStatusMayHold) {
  std::vector<std::string> names;
  for (int i = 1000; i < 1300; ++i) names.push_back("gpu-" + std::to_string(i));
  const Json status = to_json(read({}, {claim("a", names)}));
  EXPECT_EQ(status["allocated"], 300);
  EXPECT_EQ(status["devices"].size(), kMostNamed);
  EXPECT_EQ(status["devices"][0], "gpu.nvidia.com/n/gpu-1000");
}

}  // namespace
}  // namespace inference::reconcilers
