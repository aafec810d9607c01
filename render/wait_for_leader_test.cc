// Runs the script of templates/wait-for-leader.yaml as it is rendered: under sh, with fakes of what an image may hold.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/source_path.h"
#include "base/yaml_reader.h"
#include "render/fixtures.h"

namespace inference::render {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> rendered_command() {
  const auto documents = read_yaml_documents(read_file(source_path("render/golden/native-gang/rendered.yaml")));
  for (const JsonDocument& document : documents.value()) {
    const Json containers =
        document.value.value("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers"_json_pointer, Json());
    for (const Json& container : containers) {
      if (container["name"] == "wait-for-leader") return container["command"];
    }
  }
  return {};
}

class WaitForLeader : public testing::Test {
 protected:
  WaitForLeader() {
    std::string pattern = (fs::temp_directory_path() / "wait-for-leader-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    fs::create_directories(folder_ / "bin");
    fs::create_symlink("/bin/sleep", folder_ / "bin" / "sleep");
  }
  ~WaitForLeader() override { fs::remove_all(folder_); }

  /// A resolver that notes what it was asked, and knows the name once the file `known` is there.
  void install(const std::string& program) const {
    const fs::path file = folder_ / "bin" / program;
    std::ofstream(file) << "#!/bin/sh\necho \"" << program << " $LWS_LEADER_ADDRESS\" >>\"$FOLDER/asked\"\n"
                        << "[ -e \"$FOLDER/known\" ]\n";
    fs::permissions(file, fs::perms::owner_all);
  }
  void let_the_name_resolve() const { std::ofstream(folder_ / "known") << ""; }
  [[nodiscard]] pid_t begin() const {
    return start(rendered_command(),
                 {{"PATH", (folder_ / "bin").string()}, {"FOLDER", folder_.string()}, {"LWS_LEADER_ADDRESS", "m-0.m"}},
                 folder_ / "out", folder_ / "out");
  }
  [[nodiscard]] bool says_that_it_waits() {
    for (int tries = 0; tries < 3000; ++tries) {
      if (read_file(folder_ / "out").find("waits for the address of m-0.m") != std::string::npos) return true;
      (void)sleep(clock_, std::chrono::milliseconds{10}, {});
    }
    return false;
  }

  SystemClock clock_;
  fs::path folder_;
};

TEST_F(WaitForLeader, EndsOnceTheNameResolvesWithWhateverTheImageHas) {
  for (const char* program : {"getent", "python3"}) {
    fs::remove(folder_ / "known");
    fs::remove(folder_ / "out");
    fs::remove(folder_ / "bin" / "getent");
    install(program);
    const pid_t pid = begin();
    EXPECT_TRUE(says_that_it_waits()) << program;
    let_the_name_resolve();
    EXPECT_EQ(wait_for(pid), 0) << program;
    EXPECT_TRUE(read_file(folder_ / "asked").find(std::string(program) + " m-0.m\n") != std::string::npos) << program;
  }
}

TEST_F(WaitForLeader, LeavesItToTheEngineWhereTheImageHasNoResolver) {
  EXPECT_EQ(wait_for(begin()), 0);
  EXPECT_EQ(read_file(folder_ / "out"), "");
}

TEST_F(WaitForLeader, EndsAtOnceAndWithoutFailingWhenThePodIsDeleted) {
  install("getent");
  const pid_t pid = begin();
  ASSERT_TRUE(says_that_it_waits());
  kill(pid, SIGTERM);
  EXPECT_EQ(wait_for(pid), 0);
}

}  // namespace
}  // namespace inference::render
