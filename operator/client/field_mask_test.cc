#include "operator/client/field_mask.h"

#include <gtest/gtest.h>

namespace inference::client {
namespace {

const Json kPod = {
    {"apiVersion", "v1"},
    {"kind", "Pod"},
    {"metadata",
     {{"name", "a"},
      {"namespace", "ns"},
      {"uid", "u"},
      {"resourceVersion", "7"},
      {"labels", {{"app", "x"}, {"status", "y"}}},
      {"managedFields", {{{"manager", "k"}, {"fieldsV1", {{"f:spec", Json::object()}}}}}}}},
    {"spec", {{"nodeName", "n"}, {"containers", {{{"name", "c"}, {"spec", 1}, {"managedFields", 2}}}}}},
    {"status", {{"phase", "Running"}, {"conditions", {{{"type", "Ready"}, {"message", "m"}}}}, {"podIPs", {1, 2}}}}};

TEST(FieldMask, KeepsAllUnlessTold) {
  EXPECT_EQ(FieldMask().parse(kPod.dump(), 0), kPod);
}

TEST(FieldMask, LeavesOutWhatIsNotWanted) {
  Json expected = kPod;
  expected["metadata"].erase("managedFields");
  expected["status"].erase("podIPs");
  EXPECT_EQ(FieldMask::without({"metadata.managedFields", "status.podIPs"}).parse(kPod.dump(), 0), expected);
}

TEST(FieldMask, KeepsOnlyWhatIsWantedAndWhatIdentifiesTheObject) {
  const auto mask = FieldMask::only({"metadata.labels", "status.conditions", "spec.nodeName"});
  const Json expected = {{"apiVersion", "v1"},
                         {"kind", "Pod"},
                         {"metadata",
                          {{"name", "a"},
                           {"namespace", "ns"},
                           {"uid", "u"},
                           {"resourceVersion", "7"},
                           {"labels", {{"app", "x"}, {"status", "y"}}}}},
                         {"spec", {{"nodeName", "n"}}},
                         {"status", {{"conditions", {{{"type", "Ready"}, {"message", "m"}}}}}}};
  EXPECT_EQ(mask.parse(kPod.dump(), 0), expected);
}

TEST(FieldMask, FindsTheObjectsInAnEventAndInAList) {
  const auto mask = FieldMask::without({"metadata", "items", "type"});
  const Json object = {{"metadata", 1}, {"items", 2}, {"type", 3}, {"x", {{"metadata", 4}}}};
  const Json left = {{"x", {{"metadata", 4}}}};
  EXPECT_EQ(mask.parse(Json{{"type", "ADDED"}, {"object", object}}.dump(), 1),
            (Json{{"type", "ADDED"}, {"object", left}}));
  EXPECT_EQ(mask.parse(Json{{"metadata", {{"metadata", 0}}}, {"items", {object, object}}}.dump(), 2),
            (Json{{"metadata", {{"metadata", 0}}}, {"items", {left, left}}}));
}

// Found by field_mask_fuzz: the name of a member that came before stood for the list.
TEST(FieldMask, TakesAListForNoMemberThatCameBefore) {
  const auto mask = FieldMask::without({"metadata.managedFields"});
  const Json event = {{"object", {{"metadata", {{"managedFields", 1}}}}}, {"other", {{{"managedFields", 2}}}}};
  const Json left = {{"object", {{"metadata", Json::object()}}}, {"other", {{{"managedFields", 2}}}}};
  EXPECT_EQ(mask.parse(event.dump(), 1), left);
}

TEST(FieldMask, BuildsWhatThePlainParserBuilds) {
  for (const char* text : {"1", "-1", "1.5", "1e400", "null", "\"\"", "[]", "{}", "[[],{}]",
                           R"({"a":1,"a":{"b":[{}]}})", R"([1,[2,{"a":[3]},"x"],{"b":null,"c":[true,false]}])",
                           R"("\u00e9\ud83d\ude00")", "[1,]", "{\"a\"}", "1 2", "nul", "\"\xff\""}) {
    const Json plain = Json::parse(text, nullptr, false);
    for (const auto& mask : {FieldMask(), FieldMask::without({"none"})}) {
      const auto built = mask.parse(text, 0);
      EXPECT_EQ(built.has_value(), !plain.is_discarded()) << text;
      if (built) {
        EXPECT_EQ(*built, plain) << text;
      }
    }
  }
}

TEST(FieldMask, LeavesOutWholeContainersAndScalars) {
  const auto mask = FieldMask::without({"a", "b", "c.d"});
  EXPECT_EQ(mask.parse(R"({"a":[[{"x":{}}],1],"b":2,"c":{"d":{"e":[{}]},"f":[{"d":3}]},"g":{"a":4}})", 0),
            Json::parse(R"({"c":{"f":[{"d":3}]},"g":{"a":4}})"));
}

TEST(FieldMask, TellsWhatIsNoJson) {
  EXPECT_FALSE(FieldMask::only({"spec"}).parse("{\"spec\": ", 0).has_value());
  EXPECT_FALSE(FieldMask().parse("", 0).has_value());
}

}  // namespace
}  // namespace inference::client
