#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/patch.h"
#include "audit/rules.h"
#include "base/yaml_reader.h"
#include "render/object_path.h"

namespace inference::audit::fixtures {

inline std::vector<Object> objects_of(std::string_view yaml) {
  const auto documents = read_yaml_documents(yaml);
  std::vector<Object> objects;
  if (!documents) {
    ADD_FAILURE() << documents.error().message << " at line " << documents.error().line;
    return objects;
  }
  for (const JsonDocument& document : *documents) objects.push_back(std::make_shared<const Json>(document.value));
  return objects;
}

/// A Deployment in which no rule finds more than an info.
inline Json good() {
  return *objects_of(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: llama, namespace: llm}
spec:
  replicas: 2
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  template:
    metadata: {labels: {app: llama}}
    spec:
      enableServiceLinks: false
      terminationGracePeriodSeconds: 330
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.33.0
        command: [vllm, serve]
        args: [--model, /models/llama, --tensor-parallel-size, "8", --shutdown-timeout, "300"]
        env:
        - {name: OMP_NUM_THREADS, value: "16"}
        - {name: MKL_NUM_THREADS, value: "16"}
        - {name: TOKENIZERS_PARALLELISM, value: "false"}
        ports: [{containerPort: 8000}]
        resources: {limits: {cpu: "64", memory: 512Gi, nvidia.com/gpu: "8"}}
        startupProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 10, failureThreshold: 60}
        livenessProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 30, failureThreshold: 3}
        readinessProbe: {httpGet: {path: /health, port: 8000}}
        lifecycle: {preStop: {sleep: {seconds: 15}}}
        volumeMounts:
        - {name: models, mountPath: /models, readOnly: true}
        - {name: dshm, mountPath: /dev/shm}
      volumes:
      - {name: models, hostPath: {path: /var/cache/models}}
      - {name: dshm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}
)")
              .front();
}

inline constexpr auto kPod = "/spec/template/spec";
inline constexpr auto kEngine = "/spec/template/spec/containers/0";

/// A group of two nodes with a leader and a worker, right in all; both are as the pod of good().
inline Json good_group() {
  Json pod = {{"metadata", Json::object()}, {"spec", good()["spec"]["template"]["spec"]}};
  Json& engine = pod["spec"]["containers"][0];
  engine["env"].push_back({{"name", "NCCL_SOCKET_IFNAME"}, {"value", "^lo,docker,veth"}});
  engine["resources"]["limits"]["rdma/ib"] = "1";
  Json worker = pod;
  for (const char* probe : {"startupProbe", "livenessProbe", "readinessProbe", "ports"})
    worker["spec"]["containers"][0].erase(probe);
  return {{"apiVersion", "leaderworkerset.x-k8s.io/v1"},
          {"kind", "LeaderWorkerSet"},
          {"metadata", {{"name", "big"}, {"namespace", "llm"}, {"labels", {{"kueue.x-k8s.io/queue-name", "gpus"}}}}},
          {"spec",
           {{"replicas", 1},
            {"leaderWorkerTemplate",
             {{"size", 2},
              {"restartPolicy", "RecreateGroupOnPodRestart"},
              {"leaderTemplate", std::move(pod)},
              {"workerTemplate", std::move(worker)}}}}}};
}

inline constexpr auto kLeader = "/spec/leaderWorkerTemplate/leaderTemplate/spec";
inline constexpr auto kWorker = "/spec/leaderWorkerTemplate/workerTemplate/spec";

/// The object with a value at a pointer; a discarded value removes what is there.
inline Json with(Json object, const std::string& pointer, Json value) {
  const Json::json_pointer place(pointer);
  if (value.is_discarded()) {
    object[place.parent_pointer()].erase(place.back());
  } else {
    object[place] = std::move(value);
  }
  return object;
}
inline Json without(Json object, const std::string& pointer) {
  return with(std::move(object), pointer, Json(Json::value_t::discarded));
}
/// The object without the item of that name in a list.
inline Json without_item(Json object, const std::string& list, const std::string& name) {
  Json& items = object[Json::json_pointer(list)];
  std::erase_if(items.get_ref<Json::array_t&>(), [&](const Json& item) { return item["name"] == name; });
  return object;
}
inline Json with_item(Json object, const std::string& list, Json item) {
  object[Json::json_pointer(list)].push_back(std::move(item));
  return object;
}
/// The args of the engine's container.
inline Json with_args(Json object, Json args) {
  return with(std::move(object), std::string(kEngine) + "/args", std::move(args));
}
inline Json with_env(Json object, const std::string& name, const std::string& value) {
  return with_item(std::move(object), std::string(kEngine) + "/env", {{"name", name}, {"value", value}});
}

using Check = Founds (*)(const Subject&);

/// What a rule finds in the workloads among the objects.
inline Founds founds(Check check, const std::vector<Object>& objects) {
  const Surroundings around(objects);
  Founds all;
  for (const Object& object : objects) {
    const auto workload = read_workload(object);
    if (!workload) continue;
    const Subject subject = make_subject(*workload, around, render::Knowledge::embedded());
    if (subject.pods.empty()) continue;
    std::ranges::move(check(subject), std::back_inserter(all));
  }
  return all;
}
inline Founds founds(Check check, const Json& object) {
  return founds(check, std::vector{std::make_shared<const Json>(object)});
}

/// The places of what a rule finds, as a user sees them.
inline std::vector<std::string> places(Check check, const Json& object) {
  std::vector<std::string> paths;
  for (const Found& found : founds(check, object)) {
    EXPECT_FALSE(found.message.empty());
    EXPECT_FALSE(found.message.ends_with('.')) << found.message;
    EXPECT_FALSE(found.fix.empty());
    paths.push_back(render::object_path(object, found.pointer));
  }
  return paths;
}

/// The object after all patches of a rule; the rule must then find nothing.
inline Json fixed(Check check, const Json& object) {
  std::vector<Json> patches;
  for (const Found& found : founds(check, object)) {
    EXPECT_FALSE(found.patch.empty()) << found.message;
    patches.push_back(found.patch);
  }
  Json result = patched(object, combined_patch(object, patches));
  EXPECT_EQ(places(check, result), std::vector<std::string>{}) << result.dump(1);
  return result;
}

using Paths = std::vector<std::string>;

}  // namespace inference::audit::fixtures
