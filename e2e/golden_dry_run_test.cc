// The API server's own verdict on what we render: every golden object is sent as a dry run with strict field
// validation.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/source_path.h"
#include "base/yaml_reader.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("render/golden"))) {
    if (std::filesystem::exists(entry.path() / "rendered.yaml")) files.push_back(entry.path() / "rendered.yaml");
  }
  std::ranges::sort(files);
  return files;
}

TEST(GoldenObjects, AreAcceptedByTheRealApiServerWithStrictFieldValidation) {
  RealCluster& cluster = RealCluster::instance();
  const Namespace scratch(cluster, "golden");
  // Of Volcano and of NVIDIA's driver only these definitions, and only for as long as they are needed: they change what
  // the operator finds.
  const std::vector<std::string> foreign = {"-f", source_path("e2e/volcano/podgroups.yaml"), "-f",
                                            source_path("e2e/nvidia/computedomains.yaml")};
  const auto with_foreign = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), foreign.begin(), foreign.end());
    cluster.must(std::move(arguments));
  };
  with_foreign({"apply"});
  with_foreign({"wait", "--for=condition=Established", "--timeout=60s"});
  std::size_t sent = 0;
  for (const auto& file : golden_files()) {
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    const auto documents = read_yaml_documents(text.str());
    ASSERT_TRUE(documents.has_value()) << file << ": " << documents.error().message;
    for (const auto& document : *documents) {
      Json object = document.value;
      object["metadata"]["namespace"] = scratch.name();
      const client::Resource* resource =
          client::find_resource(object.value("apiVersion", ""), object.value("kind", ""));
      ASSERT_NE(resource, nullptr) << file << ": " << object["kind"];
      const auto answer = cluster.api().create(
          *resource, object, {.dry_run = client::DryRun::kAll, .field_validation = client::FieldValidation::kStrict},
          {});
      EXPECT_TRUE(answer.has_value()) << file << ": " << object["kind"] << ": " << answer.error().to_string();
      ++sent;
    }
  }
  EXPECT_GE(sent, 40U);
  with_foreign({"delete"});
}

}  // namespace
}  // namespace inference::e2e
