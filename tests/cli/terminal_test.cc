// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/terminal.h"

#include <gtest/gtest.h>

#include <string>

namespace motley {
namespace {

TEST(WrapText, BreaksBetweenWords) {
  EXPECT_EQ(WrapText("one two three four\nfive\n", 10), "one two\n  three\n  four\nfive\n");
  EXPECT_EQ(WrapText("one two", 7), "one two");
  EXPECT_EQ(WrapText("one two", 0), "one two");
}

TEST(WrapText, LeavesLongWordsAndCommandsWhole) {
  EXPECT_EQ(WrapText("see /a/very/long/path now", 10), "see\n  /a/very/long/path\n  now");
  EXPECT_EQ(WrapText("start it with\n  motley worker --server there", 15),
            "start it with\n  motley worker --server there");
}

TEST(WrapText, CountsCharactersAndNotBytes) {
  EXPECT_EQ(ColumnsOf("é█"), 2u);
  EXPECT_EQ(WrapText("ééé ééé", 7), "ééé ééé");
}

TEST(WrapHelp, ContinuesDescriptionsBelowDescriptions) {
  const std::string flag = "  --steps N                   Steps, instead of epochs\n";
  EXPECT_EQ(WrapHelp(flag, 45),
            "  --steps N                   Steps, instead\n"
            "               of epochs\n");
  EXPECT_EQ(WrapHelp(flag, 200), flag);
  EXPECT_EQ(WrapHelp("  a topic's line that is long\n", 20),
            "  a topic's line\n    that is long\n");
}

// Tables inside the text keep their columns.
TEST(WrapText, KeepsGaps) { EXPECT_EQ(WrapText("a    b c", 7), "a    b\n  c"); }

}  // namespace
}  // namespace motley
