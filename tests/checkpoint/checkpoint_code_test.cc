// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"

namespace motley {
namespace {

TEST(CheckpointCode, ReadsWhatItWrites) {
  for (const char* text : {"4+2", "10+4", "1+0", "99+1", "cauchy:10+4", "cauchy:1+99"}) {
    const auto code = ParseCheckpointCode(text);
    ASSERT_TRUE(code.ok()) << code.status().ToString();
    EXPECT_EQ(ToText(*code), text);
  }
  const auto named = ParseCheckpointCode("vandermonde:6+3");
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(ToText(*named), "6+3");
  EXPECT_EQ(ParseCheckpointCode("cauchy:3+1")->technique, ErasureTechnique::kCauchy);
}

TEST(CheckpointCode, RefusesTheRestAndSaysHow) {
  for (const char* text :
       {"", "4", "4+", "+2", "0+2", "4+2+1", "4-2", "4 + 2", "-4+2", "4+-2", "99+2", "4294967295+1",
        "99999999999+1", "reed:4+2", "cauchy:", ":4+2"}) {
    const auto code = ParseCheckpointCode(text);
    EXPECT_EQ(code.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(code.status().message().find("like 4+2"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace motley
