#include "reconcilers/permissions.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/source_path.h"
#include "base/yaml_reader.h"

namespace inference::reconcilers {
namespace {

std::set<Permission> granted(const std::string& name) {
  std::ifstream file(source_path("config/rbac/") + name);
  std::stringstream text;
  text << file.rdbuf();
  const auto documents = read_yaml_documents(text.str());
  EXPECT_TRUE(documents.has_value()) << documents.error().message;
  std::set<Permission> all;
  for (const Json& rule : documents->at(0).value["rules"]) {
    for (const Json& group : rule["apiGroups"]) {
      for (const Json& resource : rule["resources"]) {
        for (const Json& verb : rule["verbs"]) {
          for (const Json& name : rule.value("resourceNames", Json::array({""})))
            all.insert({group, resource, verb, name});
        }
      }
    }
  }
  return all;
}

std::string list(const std::set<Permission>& permissions) {
  std::string text;
  for (const auto& permission : permissions)
    text += permission.verb + " " + permission.resource + "." + permission.group + " " + permission.name + "\n";
  return text;
}

TEST(Permissions, TheClusterRoleGrantsExactlyWhatTheCodeCalls) {
  EXPECT_EQ(list(granted("role.yaml")), list(required_permissions()));
}

TEST(Permissions, TheElectionsRoleGrantsExactlyWhatTheCodeCallsInTheOperatorsNamespace) {
  EXPECT_EQ(list(granted("leader_election_role.yaml")), list(required_election_permissions()));
}

TEST(Permissions, TheProbesRoleGrantsExactlyWhatTheCodeTriesInTheOperatorsNamespace) {
  EXPECT_EQ(list(granted("gang_probe_role.yaml")), list(required_probe_permissions()));
}

TEST(Permissions, NothingReadsSecretsOrMakesPodsOrTouchesNodes) {
  for (const auto& permission : required_permissions()) {
    EXPECT_NE(permission.resource, "secrets");
    EXPECT_NE(permission.verb, "*");
    const bool reads = permission.verb == "list" || permission.verb == "watch";
    const bool releases = permission.verb == "patch" || permission.verb == "delete";
    EXPECT_TRUE(permission.resource != "nodes" || reads);
    EXPECT_TRUE(permission.resource != "pods" || reads || releases);
    EXPECT_FALSE(permission.resource.starts_with("pods/"));
  }
}

}  // namespace
}  // namespace inference::reconcilers
