#include "operator/client/watch_decoder.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace inference::client {
namespace {

constexpr std::size_t kLimit = 10'000;

std::string line(const std::string& type, const Json& object) {
  return Json{{"type", type}, {"object", object}}.dump() + "\n";
}

const std::string kStream =
    line("ADDED", {{"metadata", {{"name", "a"}}}, {"text", "line\nbreak and ünïcode"}}) +
    line("MODIFIED", {{"metadata", {{"name", "b"}}}}) + "\r\n\n" + line("DELETED", {{"metadata", {{"name", "c"}}}}) +
    line("BOOKMARK", {{"metadata", {{"resourceVersion", "12"}}}}) +
    line("BOOKMARK",
         {{"metadata", {{"resourceVersion", "13"}, {"annotations", {{"k8s.io/initial-events-end", "true"}}}}}}) +
    line("ERROR", {{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}});

std::string describe(const WatchEvent& event) {
  struct Describe {
    std::string operator()(const Added& e) const { return "added " + e.object["metadata"]["name"].get<std::string>(); }
    std::string operator()(const Modified& e) const {
      return "modified " + e.object["metadata"]["name"].get<std::string>();
    }
    std::string operator()(const Deleted& e) const {
      return "deleted " + e.object["metadata"]["name"].get<std::string>();
    }
    std::string operator()(const Bookmark& e) const {
      return "bookmark " + e.resource_version + (e.initial_events_end ? " end" : "");
    }
    std::string operator()(const WatchError& e) const { return "error " + std::to_string(e.error.code); }
  };
  return std::visit(Describe{}, event);
}

const std::vector<std::string> kEvents = {"added a",     "modified b",      "deleted c",
                                          "bookmark 12", "bookmark 13 end", "error 410"};

class Recorder {
 public:
  std::function<void(WatchEvent)> sink = [this](const WatchEvent& event) { events.push_back(describe(event)); };
  std::vector<std::string> events;
};

TEST(WatchDecoder, DecodesAStreamSplitAnywhere) {
  for (std::size_t split = 0; split <= kStream.size(); ++split) {
    Recorder recorder;
    WatchDecoder decoder(kLimit);
    ASSERT_TRUE(decoder.feed(std::string_view(kStream).substr(0, split), recorder.sink));
    ASSERT_TRUE(decoder.feed(std::string_view(kStream).substr(split), recorder.sink));
    ASSERT_TRUE(decoder.finish(recorder.sink));
    ASSERT_EQ(recorder.events, kEvents) << "split at " << split;
  }
}

TEST(WatchDecoder, DecodesAStreamByteByByte) {
  Recorder recorder;
  WatchDecoder decoder(kLimit);
  for (const char byte : kStream) ASSERT_TRUE(decoder.feed({&byte, 1}, recorder.sink));
  EXPECT_EQ(recorder.events, kEvents);
}

TEST(WatchDecoder, TakesALastLineWithoutNewline) {
  Recorder recorder;
  WatchDecoder decoder(kLimit);
  ASSERT_TRUE(decoder.feed(std::string_view(kStream).substr(0, kStream.size() - 1), recorder.sink));
  EXPECT_EQ(recorder.events.size(), kEvents.size() - 1);
  ASSERT_TRUE(decoder.finish(recorder.sink));
  EXPECT_EQ(recorder.events, kEvents);
}

TEST(WatchDecoder, RefusesATruncatedLastLine) {
  Recorder recorder;
  WatchDecoder decoder(kLimit);
  ASSERT_TRUE(decoder.feed(R"({"type":"ADDED","obj)", recorder.sink));
  EXPECT_FALSE(decoder.finish(recorder.sink));
}

TEST(WatchDecoder, RefusesWhatIsNoEvent) {
  for (const char* bad : {"garbage\n", "[]\n", "7\n", "{}\n",
                          R"({"type":"ADDED"})"
                          "\n",
                          "{\"type\":7,\"object\":{}}\n", "{\"type\":\"ADDED\",\"object\":7}\n",
                          "{\"type\":\"NEW\",\"object\":{}}\n", "{\"type\":\"BOOKMARK\",\"object\":{}}\n",
                          "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":1}}}\n",
                          "{\"type\":\"ADDED\",\"object\":{\"x\":\"\xFF\"}}\n",
                          "{\"type\":\"ADDED\",\"object\":{}}{\"type\":\"ADDED\",\"object\":{}}\n"}) {
    Recorder recorder;
    WatchDecoder decoder(kLimit);
    EXPECT_FALSE(decoder.feed(bad, recorder.sink)) << bad;
    EXPECT_TRUE(recorder.events.empty()) << bad;
  }
}

TEST(WatchDecoder, BoundsEachEventButNotTheStream) {
  Recorder recorder;
  WatchDecoder decoder(200);
  for (int event = 0; event < 100; ++event)
    ASSERT_TRUE(decoder.feed(line("ADDED", {{"metadata", {{"name", "a"}}}}), recorder.sink));
  EXPECT_EQ(recorder.events.size(), 100U);
  // Whole in one piece, or growing by pieces without an end.
  EXPECT_FALSE(WatchDecoder(200).feed(line("ADDED", {{"x", std::string(200, 'x')}}), recorder.sink));
  WatchDecoder growing(200);
  bool refused = false;
  for (int piece = 0; piece < 30 && !refused; ++piece) refused = !growing.feed("xxxxxxxxxx", recorder.sink);
  EXPECT_TRUE(refused);
}

TEST(WatchDecoder, SurvivesRandomMutations) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string bytes = kStream;
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    std::size_t events = 0;
    const std::function<void(WatchEvent)> count = [&](const WatchEvent&) { ++events; };
    WatchDecoder decoder(kLimit);
    const std::size_t split = random() % bytes.size();
    if (decoder.feed(std::string_view(bytes).substr(0, split), count) &&
        decoder.feed(std::string_view(bytes).substr(split), count)) {
      (void)decoder.finish(count);
    }
    EXPECT_LE(events, kEvents.size());
  }
}

TEST(WatchDecoder, MasksObjectsAndNothingOfTheServersOwn) {
  Recorder recorder;
  std::vector<Json> objects;
  WatchDecoder decoder(kLimit, FieldMask::only({"spec"}));
  ASSERT_TRUE(decoder.feed(kStream, [&](WatchEvent event) {
    if (const auto* added = std::get_if<Added>(&event)) objects.push_back(added->object);
    recorder.sink(std::move(event));
  }));
  EXPECT_EQ(recorder.events, kEvents);
  EXPECT_EQ(objects, std::vector<Json>({{{"metadata", {{"name", "a"}}}}}));
}

}  // namespace
}  // namespace inference::client
