// SPDX-License-Identifier: Apache-2.0
#include "data/tables/written_number.h"

#include <gmock/gmock.h>

namespace motley {
namespace {

constexpr NumberForm kPoint{}, kComma{Decimal::kComma, ""};

TEST(WrittenNumber, IsReadInItsForm) {
  const auto unit = [](const char* text) { return NumberForm{Decimal::kPoint, text}; };
  EXPECT_EQ(ParseWritten("$851,955", unit("$")), 851955);
  EXPECT_EQ(ParseWritten("-$1,137.50", unit("$")), -1137.5);
  EXPECT_EQ(ParseWritten("$ -3", unit("$")), -3);
  EXPECT_EQ(ParseWritten("3 \xE2\x82\xAC", unit("\xE2\x82\xAC")), 3);
  EXPECT_EQ(ParseWritten("12 %", unit("%")), 12);
  EXPECT_EQ(ParseWritten("12\xC2\xA0%", unit("%")), 12);
  EXPECT_EQ(ParseWritten("1,137", kPoint), 1137);
  EXPECT_EQ(ParseWritten("1 234 567", kPoint), 1234567);
  EXPECT_EQ(ParseWritten("1'234.5", kPoint), 1234.5);
  EXPECT_EQ(ParseWritten("1e3", kPoint), 1000);
  EXPECT_EQ(ParseWritten("3,14", kComma), 3.14);
  EXPECT_EQ(ParseWritten("1,137", kComma), 1.137);
  EXPECT_EQ(ParseWritten("1.234.567,8", kComma), 1234567.8);
  EXPECT_EQ(ParseWritten("1\xE2\x80\xAF"
                         "234,5",
                         kComma),
            1234.5);
  EXPECT_EQ(ParseWritten("\xE2\x88\x92"
                         "0,5",
                         kComma),
            -0.5);
  EXPECT_EQ(ParseWritten("7", kComma), 7);
}

TEST(WrittenNumber, OtherTextsAreNone) {
  for (const char* text :
       {"", "$", "%", "-", "1,13", "1,1375", "12,34,567", "0,137", "1,137 200", "1,137.", "5 kg",
        "$5%", "--5", "$5$", "2020-01-01", "1.2.3", ",", "."}) {
    EXPECT_EQ(ParseWritten(text, kPoint), std::nullopt) << text;
  }
  EXPECT_EQ(ParseWritten("3.14", kComma), std::nullopt);
  EXPECT_EQ(ParseWritten("$5", kPoint), std::nullopt);
  EXPECT_EQ(ParseWritten("5", NumberForm{Decimal::kPoint, "%"}), std::nullopt);
  EXPECT_EQ(ParseWritten("5", NumberForm{Decimal::kPoint, "$"}), 5);
}

Result<NumberForm> FormOf(const std::vector<const char*>& texts, uint64_t plain = 0,
                          uint64_t points = 0, Decimal otherwise = Decimal::kPoint) {
  FormFinder finder(std::nullopt);
  finder.AddPlain(plain, points);
  for (const char* text : texts) EXPECT_TRUE(finder.Add(text, 1)) << text;
  return finder.Find(otherwise);
}

TEST(WrittenNumber, AColumnHasOneForm) {
  EXPECT_EQ(*FormOf({"1,137", "2,000"}), kPoint);
  EXPECT_EQ(*FormOf({"1,137", "2,000"}, 0, 0, Decimal::kComma), kComma);
  EXPECT_EQ(*FormOf({"1,137", "2,000,000"}, 0, 0, Decimal::kComma), kPoint);
  EXPECT_EQ(*FormOf({"1,137", "0,250"}), kComma);
  EXPECT_EQ(*FormOf({"1,137"}, 5, 5, Decimal::kComma), kPoint);
  EXPECT_EQ(*FormOf({"5 %"}, 0, 0, Decimal::kComma), (NumberForm{Decimal::kPoint, "%"}));
  EXPECT_EQ(*FormOf({"$5"}, 3), (NumberForm{Decimal::kPoint, "$"}));
  EXPECT_FALSE(FormOf({"5 %"}, 3).ok());
  EXPECT_FALSE(FormOf({"$5",
                       "\xE2\x82\xAC"
                       "5"})
                   .ok());
  EXPECT_FALSE(FormOf({"3,14"}, 3, 1).ok());
  EXPECT_FALSE(FormOf({"3,14", "1,137.5"}).ok());
}

}  // namespace
}  // namespace motley
