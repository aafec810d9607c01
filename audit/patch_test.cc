#include "audit/patch.h"

#include "audit/fixtures.h"

namespace inference::audit {
namespace {

Json set(const Json& object, const char* pointer, Json value) {
  return patched(object, PatchWriter(object).set(pointer, std::move(value)).take());
}

TEST(Patch, SetsAndMakesWhatIsMissingOnTheWay) {
  const Json object = {{"a", {{"b", 1}}}, {"list", {{{"x", 1}}}}};
  EXPECT_EQ(set(object, "/a/b", 2)["a"]["b"], 2);
  EXPECT_EQ(set(object, "/a/c/d", 2)["a"], (Json{{"b", 1}, {"c", {{"d", 2}}}}));
  EXPECT_EQ(set(object, "/new/x~1y/z", 2)["new"], (Json{{"x/y", {{"z", 2}}}}));
  EXPECT_EQ(set(object, "/list/0/y/z", 2)["list"][0], (Json{{"x", 1}, {"y", {{"z", 2}}}}));
  EXPECT_EQ(set({{"a", nullptr}}, "/a/b", 1), (Json{{"a", {{"b", 1}}}})) << "null is as good as absent";
}

TEST(Patch, SetsTwoPlacesInWhatItMakes) {
  const Json object = {{"a", Json::object()}};
  EXPECT_EQ(patched(object, PatchWriter(object).set("/a/b/c", 1).set("/a/b/d", 2).take()),
            (Json{{"a", {{"b", {{"c", 1}, {"d", 2}}}}}}));
}

TEST(Patch, AppendsToListsThatMayBeAbsent) {
  const auto twice = [](const Json& object) {
    return patched(object, PatchWriter(object).append("/l", {{"name", "b"}}).append("/l", {{"name", "c"}}).take());
  };
  EXPECT_EQ(twice(Json::object()), (Json{{"l", {{{"name", "b"}}, {{"name", "c"}}}}}));
  EXPECT_EQ(twice({{"l", {{{"name", "a"}}}}})["l"].size(), 3U);
}

TEST(Patch, CombinesWhatSeveralFindingsAdd) {
  const Json object = {{"env", {{{"name", "a"}}, {{"name", "b"}}, {{"name", "c"}}}}};
  const Json first = PatchWriter(object).append("/volumes", {{"name", "x"}}).set("/s/t/u", 1).remove("/env/0").take();
  const Json second = PatchWriter(object)
                          .append("/volumes", {{"name", "x"}})
                          .append("/volumes", {{"name", "y"}})
                          .set("/s/t/v", 2)
                          .take();
  const Json third = PatchWriter(object).append("/env", {{"name", "d"}}).remove("/env/2").take();
  const Json result = patched(object, combined_patch(object, {first, second, third}));
  EXPECT_EQ(result, (Json{{"env", {{{"name", "b"}}, {{"name", "d"}}}},
                          {"volumes", {{{"name", "x"}}, {{"name", "y"}}}},
                          {"s", {{"t", {{"u", 1}, {"v", 2}}}}}}));
}

TEST(Patch, LeavesOutWhatCannotBeApplied) {
  const Json object = {{"a", 1}};
  const Json broken = Json::array({{{"op", "remove"}, {"path", "/nowhere"}}});
  const Json fine = Json::array({{{"op", "replace"}, {"path", "/a"}, {"value", 2}}});
  EXPECT_EQ(patched(object, combined_patch(object, {broken, fine}))["a"], 2);
  EXPECT_EQ(patched(object, broken), object);
}

}  // namespace
}  // namespace inference::audit
