#include "operator/runtime/packed_object.h"

#include <gtest/gtest.h>

namespace inference::runtime {
namespace {

Json object(int number, std::size_t text) {
  return {{"metadata", {{"name", "m" + std::to_string(number)}, {"resourceVersion", std::to_string(number)}}},
          {"spec", {{"replicas", number}, {"share", 0.5}, {"on", true}, {"none", nullptr}, {"list", {1, "two", -3}}}},
          {"data", std::string(text, 'x') + "ünïcode"}};
}

TEST(PackedObject, ComesBackAsItWas) {
  ObjectPacker packer;
  for (const Json& each : {object(1, 10), object(2, 10), object(3, 200'000), object(4, 0), Json::object(), Json()}) {
    EXPECT_EQ(*packer.pack(each).unpack(), each);
  }
}

TEST(PackedObject, OutlivesItsPackerAndKnowsItsVersion) {
  auto packer = std::make_unique<ObjectPacker>();
  (void)packer->pack(object(1, 100'000));
  const PackedObject packed = packer->pack(object(2, 100'000));
  packer.reset();
  EXPECT_EQ(*packed.unpack(), object(2, 100'000));
  EXPECT_EQ(packed.resource_version(), "2");
}

}  // namespace
}  // namespace inference::runtime
