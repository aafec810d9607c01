#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

const std::string kMount = std::string(kEngine) + "/volumeMounts/0";
const std::string kVolume = std::string(kPod) + "/volumes/0";
const Paths kModelArgument = {"spec.template.spec.containers[name=vllm].args[0]"};  // the flag
const Paths kModelVolume = {"spec.template.spec.volumes[name=models]"};

Json serving(const std::string& model) {
  return with_args(good(), {"--model", model});
}

TEST(NodeLocalCache, FindsModelsOfAHubOrAStore) {
  EXPECT_EQ(places(node_local_cache, good()), Paths{});
  for (const char* model :
       {"meta-llama/Llama-3.3-70B-Instruct", "hf://org/m", "s3://bucket/m", "gs://b/m", "https://x/m"})
    EXPECT_EQ(places(node_local_cache, serving(model)), kModelArgument) << model;
  for (const char* model : {"/models/llama", "./m", "$(MODEL)", "llama", "a/b/c", ""})
    EXPECT_EQ(places(node_local_cache, serving(model)), Paths{}) << model;
}

TEST(NodeLocalCache, FindsTheModelInAVariable) {
  const Json tgi = with(with(with_args(good(), Json::array()), std::string(kEngine) + "/image",
                             "ghcr.io/huggingface/text-generation-inference:3.0"),
                        std::string(kEngine) + "/command", Json::array());
  EXPECT_EQ(places(node_local_cache, with_env(tgi, "MODEL_ID", "org/model")),
            Paths{"spec.template.spec.containers[name=vllm].env[name=MODEL_ID].value"});
  EXPECT_EQ(places(node_local_cache, with_env(good(), "MODEL_URI", "s3://bucket/weights")),
            Paths{"spec.template.spec.containers[name=vllm].env[name=MODEL_URI].value"});
  EXPECT_EQ(places(node_local_cache, with_env(good(), "HF_ENDPOINT", "https://mirror.example.com")), Paths{});
}

TEST(NodeLocalCache, AcceptsAHubsCacheOnTheNode) {
  const Json hub = serving("org/model");
  EXPECT_EQ(places(node_local_cache, with_env(hub, "HF_HUB_OFFLINE", "1")), Paths{});
  EXPECT_EQ(places(node_local_cache, with_env(hub, "HF_HOME", "/models/hf")), Paths{}) << "a folder of the node";
  EXPECT_EQ(places(node_local_cache, with(hub, kMount + "/mountPath", "/root/.cache/huggingface")), Paths{});
  const Json claim = with(with(hub, kMount + "/mountPath", "/root/.cache/huggingface"), kVolume,
                          {{"name", "models"}, {"persistentVolumeClaim", {{"claimName", "c"}}}});
  EXPECT_EQ(places(node_local_cache, claim), kModelArgument);
}

TEST(NodeLocalCache, FindsInitContainersThatDownload) {
  const auto init = [](Json container) {
    container["name"] = "fetch";
    return places(node_local_cache,
                  with(good(), std::string(kPod) + "/initContainers", Json::array({std::move(container)})));
  };
  const Paths fetch = {"spec.template.spec.initContainers[name=fetch]"};
  EXPECT_EQ(init({{"command", {"hf", "download", "org/m"}}}), fetch);
  EXPECT_EQ(init({{"command", {"sh", "-c", "pip install x && huggingface-cli download org/m"}}}), fetch);
  EXPECT_EQ(init({{"image", "amazon/aws-cli"}, {"command", {"aws", "s3", "sync", "s3://b/m", "/models"}}}), fetch);
  EXPECT_EQ(
      init({{"command", {"python3", "-c", "from huggingface_hub import snapshot_download; snapshot_download('m')"}}}),
      fetch);
  EXPECT_EQ(init({{"image", "kserve/storage-initializer:v0.15"}}), fetch);
  EXPECT_EQ(init({{"command", {"sh", "-c", "until curl -sf http://cache/ready; do sleep 1; done"}}}), Paths{});
  EXPECT_EQ(init({{"command", {"sh", "-c", "test -d /models/llama"}}}), Paths{});
}

TEST(NodeLocalCache, FindsVolumesOfThePodAndSharedStorage) {
  EXPECT_EQ(places(node_local_cache, with(good(), kVolume, {{"name", "models"}, {"emptyDir", Json::object()}})),
            kModelVolume);
  EXPECT_EQ(places(node_local_cache,
                   with(good(), kVolume, {{"name", "models"}, {"csi", {{"driver", "gcsfuse.csi.storage.gke.io"}}}})),
            kModelVolume);
  EXPECT_EQ(places(node_local_cache, with(good(), kVolume, {{"name", "models"}, {"nfs", {{"path", "/m"}}}})),
            kModelVolume);
  const Json claimed = with(good(), kVolume, {{"name", "models"}, {"persistentVolumeClaim", {{"claimName", "c"}}}});
  EXPECT_EQ(places(node_local_cache, claimed), Paths{}) << "what kind of claim is not known";
  const auto claim = [&](const char* mode) {
    std::vector<Object> objects = objects_of(std::string("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: "
                                                         "{name: c, namespace: llm}, spec: {accessModes: [") +
                                             mode + "]}}");
    objects.push_back(std::make_shared<const Json>(claimed));
    return founds(node_local_cache, objects).size();
  };
  EXPECT_EQ(claim("ReadWriteMany"), 1U);
  EXPECT_EQ(claim("ReadOnlyMany"), 0U);
  const Json scratch =
      with_item(with_item(good(), std::string(kPod) + "/volumes", {{"name", "tmp"}, {"emptyDir", Json::object()}}),
                std::string(kEngine) + "/volumeMounts", {{"name", "tmp"}, {"mountPath", "/tmp"}});
  EXPECT_EQ(places(node_local_cache, scratch), Paths{});
}

TEST(NodeLocalCache, DoesNotAskATraining) {
  Json training = with(serving("org/model"), std::string(kEngine) + "/command", {"torchrun", "train.py"});
  EXPECT_EQ(places(node_local_cache, training), Paths{});
}

TEST(ModelsReadOnly, FindsAModelMountThatCanBeWritten) {
  EXPECT_EQ(places(models_read_only, good()), Paths{});
  const Json writable = without(good(), kMount + "/readOnly");
  EXPECT_EQ(places(models_read_only, writable),
            Paths{"spec.template.spec.containers[name=vllm].volumeMounts[name=models]"});
  static_cast<void>(fixed(models_read_only, writable));
  Json elsewhere = with(writable, kMount, {{"name", "data"}, {"mountPath", "/data"}});
  elsewhere = with(elsewhere, kVolume + "/name", "data");
  EXPECT_EQ(places(models_read_only, elsewhere), Paths{}) << "no models in it";
  EXPECT_EQ(places(models_read_only, with_args(elsewhere, {"--model", "/data/llama"})).size(), 1U);
}

TEST(ModelsReadOnly, AcceptsWhatIsNeverWrittenOrHasToBe) {
  const Json writable = without(good(), kMount + "/readOnly");
  EXPECT_EQ(places(models_read_only, with(writable, kVolume, {{"name", "models"}, {"image", {{"reference", "r"}}}})),
            Paths{});
  EXPECT_EQ(places(models_read_only,
                   with(writable, kVolume,
                        {{"name", "models"}, {"persistentVolumeClaim", {{"claimName", "c"}, {"readOnly", true}}}})),
            Paths{});
  const Json hub =
      with(with_args(writable, {"--model", "org/model"}), kMount + "/mountPath", "/root/.cache/huggingface");
  EXPECT_EQ(places(models_read_only, hub), Paths{}) << "the hub's client writes there";
}

}  // namespace
}  // namespace inference::audit
