// SPDX-License-Identifier: Apache-2.0
#include "data/files/text_scan.h"

#include <gtest/gtest.h>

#include <string>

namespace motley {
namespace {

TEST(ParseNumber, NumbersTooSmallForADoubleAreZero) {
  const std::string zeros(400, '0');
  for (const std::string& text :
       {std::string("1e-400"), std::string("-2.5E-4000"), "0." + zeros + "1", "-." + zeros + "7e3",
        zeros + "1e-400", "0." + zeros + "1e-99999999999999999999"}) {
    const Result<double> value = ParseNumber(text);
    ASSERT_TRUE(value.ok()) << value.status().ToString();
    EXPECT_EQ(*value, 0) << text;
  }
}

TEST(ParseNumber, NumbersTooLargeForAFloatAreRefused) {
  const std::string zeros(400, '0');
  for (const std::string& text :
       {std::string("1e400"), std::string("-1e39"), "1" + zeros, "1" + zeros + "e-5",
        std::string("0.001e+400"), std::string("inf"), std::string("nan"),
        std::string("5e99999999999999999999")}) {
    EXPECT_EQ(ParseNumber(text).code(), StatusCode::kDataError) << text;
  }
}

TEST(ParseNumber, ZerosDoNotHideANumber) {
  const std::string zeros(400, '0');
  EXPECT_EQ(*ParseNumber(zeros + "12.5"), 12.5);
  EXPECT_EQ(*ParseNumber("0." + zeros + "25e401"), 2.5);
  EXPECT_EQ(*ParseNumber("+1" + zeros + "e-400"), 1);
  EXPECT_EQ(*ParseNumber("0e-400"), 0);
}

}  // namespace
}  // namespace motley
