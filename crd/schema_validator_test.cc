#include "crd/schema_validator.h"

#include <gtest/gtest.h>

#include <limits>

namespace inference::crd {
namespace {

FieldErrors check(const char* schema, const Json& value) {
  return validate(compile_schema(Json::parse(schema), "test"), value, "v");
}

std::string only_message(const char* schema, const Json& value) {
  const FieldErrors errors = check(schema, value);
  EXPECT_EQ(errors.size(), 1U);
  return errors.empty() ? "" : errors.front().message;
}

TEST(SchemaValidator, TellsWhatWasThereAndWhatWasWanted) {
  EXPECT_EQ(only_message(R"({"type": "integer"})", "128k"), "must be an integer, not the string \"128k\"");
  EXPECT_EQ(only_message(R"({"type": "integer"})", 1.5), "must be an integer, not the number 1.5");
  EXPECT_EQ(only_message(R"({"type": "string"})", false),
            "must be a string, not the boolean false (quotes make it one)");
  EXPECT_EQ(only_message(R"({"type": "string"})", nullptr), "must be a string, not null");
  EXPECT_EQ(only_message(R"({"type": "object"})", Json::array()), "must be an object, not a list");
  EXPECT_EQ(only_message(R"({"x-kubernetes-int-or-string": true})", true),
            "must be an integer or a string, not the boolean true");
}

TEST(SchemaValidator, TakesEveryNumberThatIsAnInteger) {
  constexpr const char* kSchema = R"({"type": "integer", "minimum": 1, "maximum": 9007199254740991})";
  EXPECT_TRUE(check(kSchema, 8.0).empty());
  EXPECT_TRUE(check(kSchema, 2147483648).empty());
  EXPECT_TRUE(check(kSchema, 9007199254740991).empty());
  EXPECT_EQ(only_message(kSchema, 9007199254740992), "must be at most 9007199254740991");
  EXPECT_EQ(only_message(kSchema, std::numeric_limits<std::uint64_t>::max()), "must be at most 9007199254740991");
  EXPECT_EQ(only_message(kSchema, 1e300), "must be at most 9007199254740991");
  EXPECT_EQ(only_message(kSchema, -1e300), "must be at least 1");
  EXPECT_EQ(only_message(kSchema, std::numeric_limits<std::int64_t>::min()), "must be at least 1");
}

TEST(SchemaValidator, CountsCharactersNotBytes) {
  EXPECT_TRUE(check(R"({"type": "string", "maxLength": 3})", "äöü").empty());
  EXPECT_EQ(only_message(R"({"type": "string", "maxLength": 3})", "äöüa"), "must have at most 3 characters");
}

TEST(SchemaValidator, TakesNoPatternOfSeveralLines) {
  constexpr const char* kSchema = R"({"type": "string", "pattern": "^[a-z]+$"})";
  EXPECT_TRUE(check(kSchema, "abc").empty());
  EXPECT_EQ(check(kSchema, "abc\n").size(), 1U);
  EXPECT_EQ(check(kSchema, "abc\nDEF").size(), 1U);
  EXPECT_EQ(check(kSchema, "DEF\nabc").size(), 1U);
}

TEST(SchemaValidator, FindsAllFaultsAtOnceInTheOrderOfTheNames) {
  constexpr const char* kSchema = R"({"type": "object", "required": ["z"], "properties": {
      "a": {"type": "integer", "minimum": 1}, "list": {"type": "array", "maxItems": 3, "x-kubernetes-list-map-keys": ["k"],
      "items": {"type": "object", "properties": {"k": {"type": "string"}}}}, "z": {"type": "string"}}})";
  const Json value = Json::parse(R"({"a": 0, "b": 1, "list": [{"k": "x"}, {"k": 1}, {"k": "x"}, {"k": 2}]})");
  std::vector<std::string> paths;
  for (const auto& error : check(kSchema, value)) paths.push_back(error.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"v.z", "v.a", "v.b", "v.list", "v.list[1].k", "v.list[2]"}));
}

TEST(SchemaValidator, QuotesAndCutsWhatAHostileObjectSays) {
  Json value;
  value["\x1b[31m\n" + std::string(10'000, 'x')] = 1;
  const FieldErrors errors = check(R"({"type": "object"})", value);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(errors.front().path.starts_with("v.\\u001b[31m\\nxxx")) << errors.front().path;
  EXPECT_LT(errors.front().path.size(), 100U);
  const std::string message = only_message(R"({"type": "integer"})", std::string(1'000'000, 'y'));
  EXPECT_LT(message.size(), 150U);
  EXPECT_LT(only_message(R"({"type": "string", "enum": ["a"]})", "\xff\xfe").size(), 150U);
}

TEST(SchemaValidator, ListsAtMostAHundredFaults) {
  Json value;
  for (int i = 0; i < 10'000; ++i) value["unknown" + std::to_string(i)] = i;
  EXPECT_EQ(check(R"({"type": "object"})", value).size(), 100U);
}

TEST(SchemaValidator, MatchesLongTextsWithoutRecursion) {
  const Pattern pattern("^(/[A-Za-z0-9._@+=-]+){2,}$");
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "/a";
  EXPECT_TRUE(pattern.found_in(text));
  EXPECT_FALSE(pattern.found_in(text + "!"));
}

TEST(SchemaValidator, ChecksNothingBelowOpenFields) {
  constexpr const char* kSchema =
      R"({"type": "object", "maxProperties": 2, "x-kubernetes-preserve-unknown-fields": true})";
  EXPECT_TRUE(check(kSchema, Json::parse(R"({"a": [null, {"b": 1e300}], "c": false})")).empty());
  EXPECT_EQ(only_message(kSchema, Json::parse(R"({"a": 1, "b": 2, "c": 3})")), "must have at most 2 fields");
}

}  // namespace
}  // namespace inference::crd
