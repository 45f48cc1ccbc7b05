// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

constexpr char kBroken[] = "\xEF\xBF\xBD";

TEST(CleanText, LeavesWhatCanBeShown) {
  const std::string words = "r\xC3\xA4tsel \xE2\x82\xAC \xF0\x9F\x98\x80 ~";
  EXPECT_EQ(CleanText(words, 100), words);
  EXPECT_EQ(CleanText("", 100), "");
}

TEST(CleanText, LeavesControlCharactersOut) {
  EXPECT_EQ(CleanText("a\x1b[2Jb\x7f\x01", 100), "a[2Jb");
  EXPECT_EQ(CleanText(std::string_view("a\0b", 3), 100), "ab");
  EXPECT_EQ(CleanText("a\xC2\x9B"
                      "2Jb",
                      100),
            "a2Jb")
      << "the other first byte of a sequence";
  EXPECT_EQ(CleanText("a\xE2\x80\xAE"
                      "b",
                      100),
            "ab")
      << "marks for right-to-left text";
  EXPECT_EQ(CleanText("two\r\nlines\tand\xE2\x80\xA8more", 100), "two  lines and more");
}

TEST(CleanText, MarksBytesThatAreNoUtf8) {
  const std::string mark = kBroken;
  EXPECT_EQ(CleanText("\xFFx", 100), mark + "x");
  EXPECT_EQ(CleanText("r\xE4tsel", 100), "r" + mark + "tsel") << "Latin-1";
  EXPECT_EQ(CleanText("\xC0\xAF", 100), mark + mark) << "an overlong form of '/'";
  EXPECT_EQ(CleanText("\xE0\x80\xAF", 100), mark + mark + mark);
  EXPECT_EQ(CleanText("\xED\xA0\x80", 100), mark + mark + mark) << "half of a surrogate pair";
  EXPECT_EQ(CleanText("\xF4\x90\x80\x80", 100), mark + mark + mark + mark)
      << "beyond the last code point";
  EXPECT_EQ(CleanText("a\xE2\x82", 100), "a" + mark + mark) << "a truncated sequence";
}

TEST(CleanText, CutsBetweenCharacters) {
  EXPECT_EQ(CleanText("abcdef", 4), "abcd");
  EXPECT_EQ(CleanText("ab\xE2\x82\xAC", 5), "ab\xE2\x82\xAC");
  EXPECT_EQ(CleanText("ab\xE2\x82\xAC", 4), "ab");
  EXPECT_EQ(CleanText("a\xFF", 3), "a");
}

}  // namespace
}  // namespace motley
