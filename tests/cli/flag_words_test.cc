// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/flag_words.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(WithFlags, OptionsBecomeFlags) {
  EXPECT_EQ(WithFlags("`worker_speeds` 1,x: no speed; leave `workers` out"),
            "--worker-speeds 1,x: no speed; leave --workers out");
  EXPECT_EQ(WithFlags("`learning_rate`"), "--lr");
  EXPECT_EQ(WithFlags("`token`: 3 characters"), "MOTLEY_TOKEN: 3 characters");
}

TEST(WithFlags, EverythingElseStays) {
  for (const char* text :
       {"", "plain", "a ` alone", "`", "``", "`no_such_option` x", "a `b c` d"}) {
    EXPECT_EQ(WithFlags(text), text);
  }
  EXPECT_EQ(WithFlags("cannot read `odd`code`"), "cannot read `odd--code");
}

}  // namespace
}  // namespace motley
