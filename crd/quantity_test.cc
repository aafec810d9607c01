#include "crd/quantity.h"

#include <gtest/gtest.h>

#include <limits>

namespace inference::crd {
namespace {

Quantity parsed(std::string_view text) {
  const auto quantity = Quantity::parse(text);
  EXPECT_TRUE(quantity.has_value()) << text;
  return quantity.value_or(Quantity());
}

// verdict_test.cc compares most of these with what the API server stores.
TEST(Quantity, PrintsTheCanonicalFormOfKubernetes) {
  const struct {
    const char* text;
    const char* canonical;
  } cases[] = {
      {"0", "0"},
      {"0Gi", "0"},
      {"-0", "0"},
      {"1", "1"},
      {"1024Mi", "1Gi"},
      {"1024Ki", "1Mi"},
      {"1000Mi", "1000Mi"},
      {"512Gi", "512Gi"},
      {"1536Mi", "1536Mi"},
      {"1.5Gi", "1536Mi"},
      {"0.5Gi", "512Mi"},
      {"0.5", "500m"},
      {"0.1", "100m"},
      {"1500m", "1500m"},
      {"2000m", "2"},
      {"1000k", "1M"},
      {"1e3", "1e3"},
      {"1E3", "1e3"},
      {"12e6", "12e6"},
      {"1e4", "10e3"},
      {"1000e3", "1e6"},
      {"1e-3", "1e-3"},
      {"512", "512"},
      {"1023Ki", "1023Ki"},
      {"1Ki", "1Ki"},
      {"0.0001Ki", "102400u"},
      {"1.1Ki", "1126400m"},
      {"-1Gi", "-1Gi"},
      {"+5", "5"},
      {"5.", "5"},
      {".5", "500m"},
      {"1n", "1n"},
      {"0.1n", "1n"},
      {"1e-30", "1e-9"},
      {"100Ei", "9223372036854775807"},
      {"1e400", "9223372036854775807"},
      {"00012", "12"},
      {"1u", "1u"},
      {"-0.5", "-500m"},
      {"8E", "8E"},
  };
  for (const auto& [text, canonical] : cases) EXPECT_EQ(parsed(text).to_string(), canonical) << text;
}

TEST(Quantity, RefusesWhatKubernetesRefuses) {
  for (const char* text : {"", "Gi", ".", "-", "1gi", "1 Gi", "1GiB", "1e", "1ee3", "1e1.5", "e3", "0x10", "1,5", "1K",
                           "--1", "1.2.3", "64GB"}) {
    EXPECT_FALSE(Quantity::parse(text).has_value()) << text;
  }
}

TEST(Quantity, ComparesByAmountWhateverTheSuffix) {
  EXPECT_EQ(parsed("1024Mi"), parsed("1Gi"));
  EXPECT_EQ(parsed("1000m"), parsed("1"));
  EXPECT_LT(parsed("1G"), parsed("1Gi"));
  EXPECT_GT(parsed("0"), parsed("-1"));
}

TEST(Quantity, MultipliesExactlyAndKeepsTheFamily) {
  EXPECT_EQ((parsed("64Gi") * 8).to_string(), "512Gi");
  EXPECT_EQ((parsed("128Gi") * 8).to_string(), "1Ti");
  EXPECT_EQ((parsed("100m") * 3).to_string(), "300m");
  EXPECT_EQ((parsed("1Gi") * 0).to_string(), "0");
  EXPECT_EQ((parsed("1Gi") * -2).to_string(), "-2Gi");
  EXPECT_EQ((parsed("7Ei") * std::numeric_limits<std::int64_t>::max()).to_string(), "9223372036854775807");
  EXPECT_EQ((parsed("7Ei") * std::numeric_limits<std::int64_t>::min()).to_string(), "-9223372036854775807");
}

TEST(Quantity, AddsAndSubtracts) {
  EXPECT_EQ((parsed("1Gi") + parsed("512Mi")).to_string(), "1536Mi");
  EXPECT_EQ((Quantity() + parsed("2Gi")).to_string(), "2Gi");
  EXPECT_EQ((parsed("1Gi") - parsed("1Gi")).to_string(), "0");
}

TEST(Quantity, RoundsAwayFromZero) {
  EXPECT_EQ(parsed("1100m").units(), 2);
  EXPECT_EQ(parsed("-1100m").units(), -2);
  EXPECT_EQ(parsed("1u").milli_units(), 1);
  EXPECT_EQ(parsed("9E").milli_units(), std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(parsed("0.5").is_whole());
}

TEST(Quantity, TakesHostileLengths) {
  EXPECT_EQ(parsed(std::string(100'000, '9')).units(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parsed("0." + std::string(100'000, '0') + "1").to_string(), "1n");
  EXPECT_EQ(parsed("1e" + std::string(1000, '9')).units(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parsed("0e99999999999").to_string(), "0");
  EXPECT_EQ(parsed(std::string(300, '1') + "e-298").units(), 12);
}

}  // namespace
}  // namespace inference::crd
