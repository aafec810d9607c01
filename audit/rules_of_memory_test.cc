#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

const std::string kVolume = std::string(kPod) + "/volumes/1";
constexpr auto kMounts = "spec.template.spec.containers[name=vllm].volumeMounts";
constexpr auto kSize = "spec.template.spec.volumes[name=dshm].emptyDir.sizeLimit";

Json with_gpus(Json object, const std::string& count) {
  return with(std::move(object), std::string(kEngine) + "/resources/limits/nvidia.com~1gpu", count);
}

TEST(ShmSize, FindsNothingInMemoryThatIsCounted) {
  EXPECT_EQ(places(shm_size, good()), Paths{});
  EXPECT_EQ(places(shm_size, with(good(), kVolume + "/emptyDir/sizeLimit", "8Gi")), Paths{});
  EXPECT_EQ(places(shm_size, without(good(), kVolume + "/emptyDir/sizeLimit")), Paths{})
      << "without a size it may fill the memory limit";
  EXPECT_EQ(places(shm_size, with_gpus(with(good(), kVolume + "/emptyDir/sizeLimit", "2Gi"), "1")), Paths{})
      << "one GPU exchanges little";
  EXPECT_EQ(places(shm_size, with(good(), std::string(kEngine) + "/volumeMounts/1/mountPath", "/dev/shm/")), Paths{});
}

TEST(ShmSize, FindsThatItIsMissing) {
  const Json bare = without_item(good(), std::string(kEngine) + "/volumeMounts", "dshm");
  EXPECT_EQ(places(shm_size, bare), Paths{kMounts});
  EXPECT_EQ(places(shm_size, with(bare, std::string(kPod) + "/hostIPC", true)), Paths{"spec.template.spec.hostIPC"});
  const Json mounted = fixed(shm_size, without_item(bare, std::string(kPod) + "/volumes", "dshm"));
  EXPECT_EQ(mounted[Json::json_pointer(kVolume)]["emptyDir"], (Json{{"medium", "Memory"}, {"sizeLimit", "16Gi"}}));
}

TEST(ShmSize, DoesNotPatchWhatTheMemoryLimitHasNoRoomFor) {
  Json bare = without_item(good(), std::string(kEngine) + "/volumeMounts", "dshm");
  bare = without_item(bare, std::string(kPod) + "/volumes", "dshm");
  bare = with(bare, std::string(kEngine) + "/resources/limits/memory", "20Gi");
  EXPECT_TRUE(founds(shm_size, bare)[0].patch.empty());
}

TEST(ShmSize, FindsWhatIsNoMemory) {
  EXPECT_EQ(places(shm_size, with(good(), kVolume + "/emptyDir", Json::object())),
            Paths{"spec.template.spec.volumes[name=dshm].emptyDir"});
  EXPECT_EQ(places(shm_size, with(good(), kVolume, {{"name", "dshm"}, {"hostPath", {{"path", "/dev/shm"}}}})),
            Paths{"spec.template.spec.volumes[name=dshm]"});
  static_cast<void>(fixed(shm_size, with(good(), kVolume + "/emptyDir", {{"sizeLimit", "16Gi"}})));
}

TEST(ShmSize, FindsTooLittleForSeveralGpus) {
  const Json small = with(good(), kVolume + "/emptyDir/sizeLimit", "2Gi");
  EXPECT_EQ(places(shm_size, small), Paths{kSize});
  EXPECT_EQ(fixed(shm_size, small)[Json::json_pointer(kVolume + "/emptyDir/sizeLimit")], "16Gi");
}

TEST(ShmSize, FindsWhatTheMemoryLimitDoesNotCount) {
  EXPECT_EQ(places(shm_size, with(good(), kVolume + "/emptyDir/sizeLimit", "512Gi")), Paths{kSize});
  const Json tight = with(good(), std::string(kEngine) + "/resources/limits/memory", "4Gi");
  EXPECT_EQ(places(shm_size, without(tight, kVolume + "/emptyDir/sizeLimit")), Paths{kSize})
      << "the memory limit bounds it to less than 8Gi";
}

}  // namespace
}  // namespace inference::audit
