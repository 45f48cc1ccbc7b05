// SPDX-License-Identifier: Apache-2.0
#include "data/storage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/tables/stored_source.h"
#include "devices/half.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

constexpr Storage kNarrow[] = {Storage::kFp16, Storage::kBf16};

double Meaning(uint32_t bits, Storage storage) {
  const auto half = static_cast<uint16_t>(bits);
  return storage == Storage::kFp16 ? FloatOfFp16(half) : FloatOfBf16(half);
}

TEST(Storage, HasTheNumbersOfItsFormat) {
  EXPECT_EQ(Meaning(0x3c00, Storage::kFp16), 1);
  EXPECT_EQ(Meaning(0xc500, Storage::kFp16), -5);
  EXPECT_EQ(Meaning(0x7bff, Storage::kFp16), 65504);
  EXPECT_EQ(Meaning(0x0001, Storage::kFp16), 0x1p-24);
  EXPECT_EQ(Meaning(0x03ff, Storage::kFp16), 1023 * 0x1p-24);
  EXPECT_EQ(Meaning(0x0400, Storage::kFp16), 0x1p-14);
  EXPECT_EQ(Meaning(0x7c00, Storage::kFp16), HUGE_VAL);
  EXPECT_TRUE(std::isnan(Meaning(0xfc01, Storage::kFp16)));
  EXPECT_TRUE(std::signbit(Meaning(0x8000, Storage::kFp16)));
  EXPECT_EQ(Meaning(0x3f80, Storage::kBf16), 1);
  EXPECT_EQ(Meaning(0xc0a0, Storage::kBf16), -5);
  EXPECT_EQ(Meaning(0x0001, Storage::kBf16), 0x1p-133);
}

TEST(Storage, RoundsToTheNearestOfAllNumbersAndTiesToEven) {
  for (const Storage storage : kNarrow) {
    const uint32_t infinite = storage == Storage::kFp16 ? 0x7c00 : 0x7f80;
    for (uint32_t bits = 0; bits + 1 < infinite; ++bits) {
      const double here = Meaning(bits, storage);
      const double next = Meaning(bits + 1, storage);
      const auto middle = static_cast<float>((here + next) / 2);  // The result is exact.
      const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      const std::pair<float, uint32_t> wanted[] = {{static_cast<float>(here), bits},
                                                   {std::nextafter(middle, 0.0f), bits},
                                                   {middle, even},
                                                   {std::nextafter(middle, HUGE_VALF), bits + 1}};
      for (const auto& [value, want] : wanted) {
        ASSERT_EQ(Rounded(value, storage), want) << value << " as " << NameOf(storage);
        ASSERT_EQ(Rounded(-value, storage), want | 0x8000) << -value << " as " << NameOf(storage);
      }
    }
  }
}

TEST(Storage, KnowsWhatIsTooLarge) {
  EXPECT_TRUE(IsFinite(Rounded(65519.996f, Storage::kFp16), Storage::kFp16));
  EXPECT_EQ(Rounded(65520.0f, Storage::kFp16), 0x7c00);
  EXPECT_EQ(Rounded(-1e30f, Storage::kFp16), 0xfc00);
  EXPECT_TRUE(IsFinite(Rounded(1e30f, Storage::kBf16), Storage::kBf16));
  EXPECT_EQ(Rounded(std::numeric_limits<float>::max(), Storage::kBf16), 0x7f80);
  for (const Storage storage : kNarrow) {
    EXPECT_FALSE(IsFinite(Rounded(HUGE_VALF, storage), storage));
    EXPECT_FALSE(IsFinite(Rounded(std::nanf(""), storage), storage));
    EXPECT_TRUE(std::isnan(Meaning(Rounded(std::nanf(""), storage), storage)));
    EXPECT_EQ(*ParseStorage(NameOf(storage)), storage);
  }
  EXPECT_EQ(*ParseStorage("float32"), Storage::kFloat32);
  EXPECT_EQ(ParseStorage("half").code(), StatusCode::kInvalidArgument);
}

Dataset Narrowed(Dataset data, Storage storage) {
  EXPECT_TRUE(Narrow(data, storage).ok());
  return data;
}

Dataset Wide(Dataset data) {
  Widen(data);
  return data;
}

void ExpectSame(const Dataset& narrow, Storage storage, const Dataset& want) {
  EXPECT_EQ(narrow.storage, storage);
  EXPECT_TRUE(narrow.dense.empty());
  const Dataset wide = Wide(narrow);
  EXPECT_EQ(wide.dense, want.dense);
  EXPECT_EQ(wide.label, want.label);
  EXPECT_EQ(wide.features, want.features);
  EXPECT_EQ(wide.classes, want.classes);
}

TEST(NarrowSamples, AreTheRoundedOnesInHalfOfTheMemory) {
  for (const Storage storage : kNarrow) {
    const Dataset data = MakeSamples(50, 3, false, 30, 1);
    const Dataset narrow = Narrowed(data, storage);
    const double part = storage == Storage::kFp16 ? 0x1p-11 : 0x1p-8;
    const Dataset wide = Wide(narrow);
    for (size_t i = 0; i < data.dense.size(); ++i) {
      EXPECT_NEAR(wide.dense[i], data.dense[i], part * std::abs(data.dense[i]) + 0x1p-25);
    }
    EXPECT_EQ(data.size_bytes() - narrow.size_bytes(), data.dense.size() * 2);
    const Bytes block = EncodeBlock(narrow, 0, 30);
    EXPECT_EQ(block.size(), BlockBytes(30, 50, false, 0, storage));
    EXPECT_EQ(EncodeBlock(data, 0, 30).size() - block.size(), data.dense.size() * 2);
  }
}

TEST(NarrowSamples, GoEveryWayThatOthersGo) {
  const TemporaryFolder folder;
  for (const Storage storage : kNarrow) {
    const Dataset narrow = Narrowed(MakeSamples(5, 3, false, 40, 1), storage);
    const Dataset wide = Wide(narrow);
    const std::vector<uint32_t> rows = {7, 2, 7, 39, 0};
    ExpectSame(Select(narrow, rows), storage, Select(wide, rows));
    ExpectSame(SelectRange(narrow, 3, 30), storage, SelectRange(wide, 3, 30));
    ExpectSame(*DecodeBlock(EncodeBlock(narrow, 3, 30), 5, 3, false), storage,
               SelectRange(wide, 3, 30));
    const auto spilled = Spill(narrow);
    ASSERT_TRUE(spilled.ok()) << spilled.status().ToString();
    EXPECT_EQ((*spilled)->shape().storage, storage);
    EXPECT_LT((*spilled)->memory_bytes(), 40 * 5 * 2 + 40 * 4u);
    const MemorySource held(narrow);
    for (const DataSource* source : {spilled->get(), static_cast<const DataSource*>(&held)}) {
      ExpectSame(*source->Range(3, 30), storage, SelectRange(wide, 3, 30));
      ExpectSame(*source->Gather(rows), storage, Select(wide, rows));
    }
  }
}

TEST(NarrowSamples, BlocksOfThemAreChecked) {
  const Dataset narrow = Narrowed(MakeSamples(5, 3, false, 4, 1), Storage::kBf16);
  const Bytes whole = EncodeBlock(narrow, 0, 4);
  ASSERT_TRUE(DecodeBlock(whole, 5, 3, false).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(DecodeBlock(BytesView(whole).first(size), 5, 3, false).code(),
              StatusCode::kDataError);
  }
  Bytes other = whole;
  other[10] = std::byte{3};  // An unknown storage.
  EXPECT_EQ(DecodeBlock(other, 5, 3, false).code(), StatusCode::kDataError);
  other = whole;
  other[whole.size() - 1] = std::byte{0x7f};
  other[whole.size() - 2] = std::byte{0x80};  // Infinite.
  EXPECT_EQ(DecodeBlock(other, 5, 3, false).code(), StatusCode::kDataError);
}

TEST(NarrowSamples, WhatIsTooLargeIsSaid) {
  Dataset data = MakeSamples(5, 3, false, 4, 1);
  data.dense[7] = -70000;
  const Status refused = Narrow(data, Storage::kFp16);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.ToString().find("-70000 is too large for fp16"), std::string::npos);
}

}  // namespace
}  // namespace motley
