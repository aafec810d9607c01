#include "crd/verdict_cases.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/yaml_reader.h"

namespace inference::crd {
namespace {

Json object_of(const Json& base, const Json& row) {
  if (row.contains("object")) return row.at("object");
  const bool is_profile = row.contains("profile") || row.contains("defaults");
  Json object = base.at(is_profile ? "profile" : "deployment");
  if (row.contains("spec")) object.merge_patch({{"spec", row.at("spec")}});
  if (row.contains("defaults")) object.merge_patch({{"spec", {{"defaults", row.at("defaults")}}}});
  if (row.contains("patch")) object.merge_patch(row.at("patch"));
  if (row.contains("profile")) object.merge_patch(row.at("profile"));
  return object;
}

}  // namespace

std::vector<VerdictCase> read_verdict_cases(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  const auto documents = read_yaml_documents(text.str());
  if (!stream || !documents)
    throw std::runtime_error(path + ": " + (documents ? "can't be read" : documents.error().message));
  const Json& file = documents->at(0).value;
  std::vector<VerdictCase> cases;
  for (const char* list : {"bad", "good"}) {
    for (const Json& row : file.at(list)) {
      VerdictCase each{.name = row.at("case"), .object = object_of(file.at("base"), row), .at = {}};
      if (row.contains("at")) row.at("at").get_to(each.at);
      std::ranges::sort(each.at);
      if (each.at.empty() != (std::string_view(list) == "good"))
        throw std::runtime_error("a bad case needs `at`, a good one has none: " + each.name);
      cases.push_back(std::move(each));
    }
  }
  return cases;
}

}  // namespace inference::crd
