#include "crd/amounts.h"

#include <gtest/gtest.h>

namespace inference::crd {
namespace {

Json container(const char* cpu, const char* restart_policy = nullptr) {
  Json object = {{"resources", {{"requests", {{"cpu", cpu}}}}}};
  if (restart_policy != nullptr) object["restartPolicy"] = restart_policy;
  return object;
}

std::string cpu_of(const Json& spec) {
  return requests_of({{"spec", spec}})["cpu"].to_string();
}

TEST(Amounts, CountContainersAsTheSchedulerDoes) {
  EXPECT_EQ(cpu_of({{"containers", {container("1"), container("500m")}}}), "1500m");
  // An init container runs alone …
  EXPECT_EQ(cpu_of({{"containers", {container("1")}}, {"initContainers", {container("3"), container("2")}}}), "3");
  EXPECT_EQ(cpu_of({{"containers", {container("4")}}, {"initContainers", {container("3")}}}), "4");
  // … but for the sidecars before it, which also run beside the containers.
  EXPECT_EQ(cpu_of({{"containers", {container("1")}}, {"initContainers", {container("2", "Always"), container("3")}}}),
            "5");
  EXPECT_EQ(cpu_of({{"containers", {container("4")}}, {"initContainers", {container("2", "Always"), container("3")}}}),
            "6");
  EXPECT_EQ(cpu_of({{"containers", {container("1")}}, {"initContainers", {container("3"), container("1", "Always")}}}),
            "3");
  EXPECT_EQ(cpu_of({{"containers", {container("1")}}, {"overhead", {{"cpu", "250m"}}}}), "1250m");
  EXPECT_EQ(cpu_of({{"containers", {container("1")}}, {"resources", {{"requests", {{"cpu", "2"}}}}}}), "2");
}

TEST(Amounts, EveryPodTakesAPlaceAmongThePods) {
  EXPECT_EQ(requests_of(Json::object())["pods"].to_string(), "1");
}

TEST(Amounts, CoverWhatTheyHaveAllOf) {
  const Amounts available = read_amounts({{"cpu", "4"}, {"nvidia.com/gpu", "8"}});
  EXPECT_TRUE(covers(available, read_amounts({{"cpu", "4000m"}, {"nvidia.com/gpu", 8}})));
  EXPECT_FALSE(covers(available, read_amounts({{"cpu", "4001m"}})));
  EXPECT_FALSE(covers(available, read_amounts({{"rdma/hca", "1"}})));
  EXPECT_TRUE(covers(available, read_amounts({{"rdma/hca", "0"}})));
}

TEST(Amounts, KnowGpusByTheirName) {
  EXPECT_EQ(gpus_in(read_amounts({{"nvidia.com/gpu", "8"}, {"rdma/hca", "1"}, {"cpu", "4"}})), 8);
  EXPECT_EQ(gpus_in(read_amounts({{"nvidia.com/mig-1g.10gb", "2"}})), 2);
  EXPECT_EQ(gpus_in(read_amounts({{"amd.com/gpu", "4"}})), 4);
}

}  // namespace
}  // namespace inference::crd
