// SPDX-License-Identifier: Apache-2.0
#include "profiles/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

double Parsed(Quantity quantity, std::string_view text) {
  const Result<double> value = ParseQuantity(quantity, text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *value : -1;
}

TEST(Units, ReadsWhatPeopleWrite) {
  EXPECT_EQ(Parsed(Quantity::kDuration, "0.2ms"), 0.0002);
  EXPECT_EQ(Parsed(Quantity::kDuration, "5 us"), 5e-6);
  EXPECT_EQ(Parsed(Quantity::kDuration, "2min"), 120);
  EXPECT_EQ(Parsed(Quantity::kDuration, "1.5"), 1.5);
  EXPECT_EQ(Parsed(Quantity::kSize, "64MiB"), 67108864);
  EXPECT_EQ(Parsed(Quantity::kSize, "1.6MB"), 1600000);
  EXPECT_EQ(Parsed(Quantity::kRate, "1Gbit/s"), 125000000);
  EXPECT_EQ(Parsed(Quantity::kRate, "125 MB/s"), 125000000);
}

TEST(Units, RefusesTheRestAndListsTheUnits) {
  for (const char* text :
       {"", "ms", "-1ms", "1 parsec", "1ms later", "nan", "inf", "1e999s", "0x1"}) {
    const Result<double> value = ParseQuantity(Quantity::kDuration, text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(value.status().message(), HasSubstr("min, s, ms, us"));
  }
  EXPECT_FALSE(ParseQuantity(Quantity::kSize, "1ms").ok());
  EXPECT_FALSE(ParseQuantity(Quantity::kSize, "1e308TB").ok());
}

TEST(Units, WritesTheShortestForm) {
  EXPECT_EQ(FormatQuantity(Quantity::kDuration, 0.0002), "0.2ms");
  EXPECT_EQ(FormatQuantity(Quantity::kDuration, 120), "2min");
  EXPECT_EQ(FormatQuantity(Quantity::kSize, 67108864), "64MiB");
  EXPECT_EQ(FormatQuantity(Quantity::kRate, 125000000), "1Gbit/s");
}

TEST(Units, EveryValueReadsBackExactly) {
  Random random(1, Stream::kTest);
  for (int i = 0; i < 3000; ++i) {
    const double exponent = random.NextDouble() * 24 - 12;
    const double value = std::pow(10, exponent);
    for (const Quantity quantity : {Quantity::kDuration, Quantity::kSize, Quantity::kRate}) {
      const std::string text = FormatQuantity(quantity, value);
      EXPECT_EQ(Parsed(quantity, text), value) << text;
    }
  }
}

}  // namespace
}  // namespace motley
