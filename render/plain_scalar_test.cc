#include "render/plain_scalar.h"

#include <gtest/gtest.h>

namespace inference::render {
namespace {

TEST(PlainScalar, TakesWhatEveryReaderAgreesOn) {
  const std::pair<const char*, Json> cases[] = {
      {"true", true},
      {"false", false},
      {"null", nullptr},
      {"0", 0},
      {"-7", -7},
      {"8000", 8000},
      {"0.9", 0.9},
      {"1.0", 1.0},
      {"engine", "engine"},
      {"64Gi", "64Gi"},
      {"v1", "v1"},
      {"0.11.0", "0.11.0"},
      {"10.0.0.1", "10.0.0.1"},
      {"1h30m", "1h30m"},
      {"apps/v1", "apps/v1"},
      {"-", "-"},
      {"--port", "--port"},
      {"nvidia.com/gpu", "nvidia.com/gpu"},
      {"9223372036854775807", 9223372036854775807},
  };
  for (const auto& [text, value] : cases) {
    const auto parsed = parse_plain_scalar(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error();
    EXPECT_EQ(*parsed, value) << text;
    EXPECT_EQ(parsed->type(),
              value.type() == Json::value_t::number_integer ? Json::value_t::number_integer : value.type())
        << text;
  }
}

TEST(PlainScalar, RefusesWhatReadersDisagreeOn) {
  for (const char* text :
       {"yes",  "No",   "ON",   "off",  "y",     "n",    "True",       "FALSE", "Null",    "~",  "0123",
        "-012", "0x1F", "0o17", "0b11", "1e3",   "1E-3", "1_000",      "12:30", "1:2:3.4", "+1", ".5",
        "5.",   "0.90", "-0",   ".inf", "-.INF", ".NaN", "2026-01-01", "=",     "<<"}) {
    EXPECT_FALSE(parse_plain_scalar(text)) << text;
  }
}

TEST(PlainScalar, RefusesNumbersBeyond64Bits) {
  const auto parsed = parse_plain_scalar("9223372036854775808");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error(), "number 9223372036854775808 does not fit 64 bits");
}

TEST(Figure, IsANumberAQuantityOrADuration) {
  for (const Json& value : {Json(8), Json(0.5), Json("8"), Json("64Gi"), Json("1.5Gi"), Json("500m"), Json("25%"),
                            Json("600s"), Json("1h30m"), Json("100ms"), Json("-1")}) {
    EXPECT_TRUE(is_figure(value)) << value;
  }
}

TEST(Figure, IsNoText) {
  for (const Json& value : {Json("engine"), Json("v1"), Json("0.11.0"), Json("8 GPUs"), Json("1h30"), Json(""),
                            Json("-"), Json("Gi"), Json(true), Json(nullptr), Json::array({1})}) {
    EXPECT_FALSE(is_figure(value)) << value;
  }
}

}  // namespace
}  // namespace inference::render
