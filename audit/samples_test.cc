// Manifests as people publish them: what is found in each is written beside it, in samples/*.txt.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "audit/audit.h"
#include "audit/fixtures.h"
#include "base/source_path.h"
#include "render/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

std::vector<std::filesystem::path> samples() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("audit/samples"))) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<Object> objects_in(const std::filesystem::path& file) {
  return objects_of(render::read_file(file));
}

std::string text_of(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    text += verdict.title + "\n";
    for (const Finding& finding : verdict.findings)
      text += "  " + std::string(to_string(finding.severity)) + " " + finding.rule + " at " + finding.path + "\n    " +
              finding.message + "\n    fix: " + finding.fix + (finding.patch.empty() ? "" : " (patch)") + "\n";
    for (const Ignored& ignored : verdict.ignored)
      text += "  ignored " + ignored.finding.rule + " at " + ignored.finding.path + ": " + ignored.reason + "\n";
  }
  return text;
}

TEST(Samples, AreJudgedAsWritten) {
  const bool update = std::getenv("UPDATE_GOLDEN") != nullptr;
  for (std::filesystem::path file : samples()) {
    const std::string text = text_of(audit(objects_in(file)));
    file.replace_extension(".txt");
    if (update) std::ofstream(file, std::ios::binary) << text;
    EXPECT_EQ(text, render::read_file(file)) << file;
  }
  EXPECT_GE(samples().size(), 8U);
}

TEST(Samples, AreBetterByEachPatch) {
  for (const std::filesystem::path& file : samples()) {
    const std::vector<Object> objects = objects_in(file);
    for (const Verdict& verdict : audit(objects)) {
      std::vector<Json> patches;
      for (const Finding& finding : verdict.findings) patches.push_back(finding.patch);
      std::vector<Object> after = objects;
      const Json now = patched(*verdict.object, combined_patch(*verdict.object, patches));
      std::ranges::replace(after, verdict.object, std::make_shared<const Json>(now));
      std::set<std::string> left;
      for (const Verdict& again : audit(after)) {
        for (const Finding& finding : again.findings) {
          if (again.title == verdict.title) left.insert(finding.rule + finding.pointer);
        }
      }
      for (const Finding& finding : verdict.findings)
        EXPECT_FALSE(!finding.patch.empty() && left.contains(finding.rule + finding.pointer))
            << file << ": " << finding.rule << " at " << finding.path;
    }
  }
}

}  // namespace
}  // namespace inference::audit
