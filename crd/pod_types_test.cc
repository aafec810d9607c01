#include "crd/pod_types.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/yaml_reader.h"

namespace inference::crd {
namespace {

FieldErrors faults(const std::string& yaml, UnknownFields unknown = UnknownFields::kRefuse) {
  return check_pod_spec(read_yaml_documents(yaml).value().at(0).value, "spec", unknown);
}

TEST(PodTypes, RefuseWhatTheApiServerWould) {
  struct Row {
    std::string spec, path, message;
  };
  for (const Row& row : {
           Row{"bogusField: 1", "spec.bogusField", "unknown field: a PodSpec of Kubernetes"},
           Row{"contaners: []", "spec.contaners", "; did you mean containers?"},
           Row{"volumes: foo", "spec.volumes", "must be a list, not the string \"foo\""},
           Row{"terminationGracePeriodSeconds: abc", "spec.terminationGracePeriodSeconds",
               "must be an integer, not the string \"abc\""},
           Row{"priority: 1.5", "spec.priority", "must be an integer of 32 bits, not the number 1.5"},
           Row{"priority: 3000000000", "spec.priority", "must be an integer of 32 bits, not the number 3000000000"},
           Row{"hostNetwork: \"true\"", "spec.hostNetwork", "must be a boolean"},
           Row{"schedulerName: 1", "spec.schedulerName", "(quotes make it one)"},
           Row{"nodeSelector: {a.b/c: true}", "spec.nodeSelector[a.b/c]", "must be a string"},
           Row{"nodeSelector: [a]", "spec.nodeSelector", "must be an object, not a list"},
           Row{"affinity: 3", "spec.affinity", "must be an object"},
           Row{"containers: {name: a}", "spec.containers", "must be a list, not an object"},
           Row{"containers: [x]", "spec.containers[0]", "must be an object, not the string \"x\""},
           Row{"containers: [{name: a}, {name: b, imagee: x}]", "spec.containers[1].imagee", "did you mean image?"},
           Row{"containers: [{args: [--seed, 1]}]", "spec.containers[0].args[1]", "must be a string"},
           Row{"containers: [{env: [{name: A, value: 1}]}]", "spec.containers[0].env[0].value", "must be a string"},
           Row{"containers: [{resources: {limits: {cpu: lots}}}]", "spec.containers[0].resources.limits[cpu]",
               "must be a quantity, such as 500m or 2Gi, not the string \"lots\""},
           Row{"containers: [{resources: {limits: {cpu: true}}}]", "spec.containers[0].resources.limits[cpu]",
               "must be a quantity"},
           Row{"containers: [{livenessProbe: {httpGet: {port: {a: 1}}}}]",
               "spec.containers[0].livenessProbe.httpGet.port", "must be an integer or a string, not an object"},
           Row{"initContainers: [{readinesProbe: null}]", "spec.initContainers[0].readinesProbe", "unknown field"},
           Row{"args: [{$patch: delete}]", "spec.args", "unknown field"},
       }) {
    const FieldErrors errors = faults(row.spec);
    ASSERT_EQ(errors.size(), 1U) << row.spec;
    EXPECT_EQ(errors[0].path, row.path) << row.spec;
    EXPECT_NE(errors[0].message.find(row.message), std::string::npos) << row.spec << ": " << errors[0].message;
  }
}

TEST(PodTypes, TakeWhatAPatchMaySay) {
  for (const std::string spec : {
           "{}",
           "terminationGracePeriodSeconds: 30",
           "priority: -1",
           "hostname: null",
           "hostname: {$patch: delete}",
           "affinity: {nodeAffinity: {$patch: delete}}",
           "nodeSelector: {a: {$patch: delete}}",
           "containers: [{name: engine, livenessProbe: null, image: {$patch: delete}}, {name: b, $patch: delete}]",
           "containers: [{resources: {limits: {cpu: 1, memory: 0.5Gi, nvidia.com/gpu: \"8\"}, requests: {cpu: 0.5}}}]",
           "containers: [{livenessProbe: {httpGet: {port: http}}, readinessProbe: {httpGet: {port: 8000}}}]",
           "volumes: [{name: a, ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: b}}, spec: {}}}}]",
           "topologySpreadConstraints: [{maxSkew: 1, labelSelector: {matchLabels: {a: b}}}]",
       }) {
    for (const FieldError& error : faults(spec)) ADD_FAILURE() << spec << ": " << to_string(error);
  }
}

TEST(PodTypes, LeaveANewerFieldToTheApiServer) {
  EXPECT_TRUE(faults("{fieldOfTomorrow: 1, containers: [{fieldOfTomorrow: 1}]}", UnknownFields::kPass).empty());
  EXPECT_EQ(faults("{fieldOfTomorrow: 1, volumes: foo}", UnknownFields::kPass).size(), 1U);
}

TEST(PodTypes, BoundTheirFaults) {
  Json patch;
  for (int i = 0; i < 1000; ++i) patch["field" + std::to_string(i)] = i;
  EXPECT_EQ(check_pod_spec(patch, "spec", UnknownFields::kRefuse).size(), 100U);
}

TEST(PodTypes, NameOnlyTypesThatTheyHold) {
  const Json& types = pod_types().at("types");
  for (const auto& [type, fields] : types.items()) {
    for (const auto& [field, value] : fields.items()) {
      std::string name = value;
      for (const std::string prefix : {"list of ", "map of "}) {
        if (name.starts_with(prefix)) name = name.substr(prefix.size());
      }
      const std::vector<std::string> scalars = {"string",   "boolean",       "int32", "int64",
                                                "quantity", "int-or-string", "any"};
      EXPECT_TRUE(types.contains(name) || std::ranges::find(scalars, name) != scalars.end())
          << type << "." << field << ": " << name;
    }
  }
}

}  // namespace
}  // namespace inference::crd
