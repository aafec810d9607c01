#include "base/logging.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/json.h"

namespace inference {
namespace {

/// What `write` puts on standard error under this configuration; the default is restored.
template <typename F>
std::string logged(log::Level level, log::Format format, F&& write) {
  log::configure(level, format);
  testing::internal::CaptureStderr();
  write();
  std::string text = testing::internal::GetCapturedStderr();
  log::configure(log::Level::kInfo, log::Format::kText);
  return text;
}

TEST(Logging, WritesTextAsMessageThenKeysAndValues) {
  const std::string text = logged(log::Level::kInfo, log::Format::kText, [] {
    log::warning("applied object", {{"object", "default/llama"}, {"count", "3"}});
  });
  // 2026-11-30T12:00:00.000Z, then the level.
  ASSERT_GT(text.size(), 25U);
  EXPECT_EQ(text[10], 'T');
  EXPECT_EQ(text.substr(23), "Z warning applied object object=default/llama count=3\n");
}

TEST(Logging, QuotesValuesThatWouldBeAmbiguousOrForgeALine) {
  const std::string text = logged(log::Level::kInfo, log::Format::kText, [] {
    log::info("read", {{"a", "two words"},
                       {"b", ""},
                       {"c", "x=y"},
                       {"d", "one\n2026-01-01 error forged"},
                       {"e", "say \"hi\""},
                       {"f", "\xff\x1b[31m"}});
  });
  EXPECT_EQ(text.substr(23),
            "Z info read a=\"two words\" b=\"\" c=\"x=y\" d=\"one\\n2026-01-01 error forged\" e=\"say \\\"hi\\\"\" "
            "f=\"\xEF\xBF\xBD\\u001b[31m\"\n");
}

TEST(Logging, WritesOneJsonObjectALine) {
  const std::string text = logged(log::Level::kDebug, log::Format::kJson, [] {
    log::debug("first \"quoted\"", {{"we\"ird", "a\nb"}});
    log::error("second", {{"bytes", "\xc3("}, {"percent", "100% %v {}"}});
  });
  std::istringstream lines(text);
  std::string line;
  std::vector<Json> objects;
  while (std::getline(lines, line)) objects.push_back(Json::parse(line));
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0]["level"], "debug");
  EXPECT_EQ(objects[0]["msg"], "first \"quoted\"");
  EXPECT_EQ(objects[0]["we\"ird"], "a\nb");
  EXPECT_EQ(objects[0]["ts"].get<std::string>().size(), 24U);
  EXPECT_EQ(objects[1]["level"], "error");
  EXPECT_EQ(objects[1]["bytes"], "\xEF\xBF\xBD(");
  EXPECT_EQ(objects[1]["percent"], "100% %v {}");
}

TEST(Logging, LeavesOutWhatIsBelowTheLevel) {
  const std::string text = logged(log::Level::kWarning, log::Format::kText, [] {
    log::debug("no");
    log::info("no");
    log::warning("yes");
  });
  EXPECT_EQ(text.substr(23), "Z warning yes\n");
}

}  // namespace
}  // namespace inference
