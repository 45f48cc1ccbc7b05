// SPDX-License-Identifier: Apache-2.0
#include "data/data_view.h"

#include <gtest/gtest.h>

#include "tests/training/test_data.h"

namespace motley {
namespace {

TEST(DataView, ShowsRowsInItsOrderAndScaled) {
  for (const bool sparse : {false, true}) {
    const Dataset data = MakeSamples(4, 3, sparse, 12, 5);
    const auto base = std::make_shared<const MemorySource>(data);
    const std::vector<uint32_t> rows = {9, 2, 2, 11, 0};
    const DataView view(base, rows, 0.25f);
    EXPECT_EQ(view.shape().rows, 5u);
    Dataset expected = Select(data, rows);
    ScaleFeatures(expected, 0.25f);
    EXPECT_EQ(EncodeBlock(*view.Range(0, 5), 0, 5), EncodeBlock(expected, 0, 5));
    EXPECT_EQ(EncodeBlock(*view.Range(1, 4), 0, 3), EncodeBlock(expected, 1, 4));
    EXPECT_EQ(EncodeBlock(*view.Gather(std::vector<uint32_t>{3}), 0, 1),
              EncodeBlock(expected, 3, 4));
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(*view.LabelOf(i), data.label[rows[i]]);
    const DataView all(base, std::nullopt, 1);
    EXPECT_EQ(EncodeBlock(*all.Range(0, 12), 0, 12), EncodeBlock(data, 0, 12));
  }
}

TEST(DataView, RoundsWhatItScaled) {
  const Dataset data = MakeSamples(4, 3, false, 12, 5);
  const DataView view(std::make_shared<const MemorySource>(data), std::nullopt, 0.3f,
                      Storage::kBf16);
  EXPECT_EQ(view.shape().storage, Storage::kBf16);
  Dataset expected = data;
  ScaleFeatures(expected, 0.3f);
  ASSERT_TRUE(Narrow(expected, Storage::kBf16).ok());
  EXPECT_EQ(view.Range(0, 12)->narrow, expected.narrow);
  EXPECT_EQ(view.Gather(Iota(3, 4))->narrow, Select(expected, Iota(3, 4)).narrow);
}

TEST(DataView, TheLargestMagnitudeIsThatOfTheRowsAlone) {
  Dataset data = MakeSamples(2, 2, false, 5000, 3);
  data.dense[2 * 4100] = -40;
  data.dense[2 * 7 + 1] = 90;
  const MemorySource source(data);
  EXPECT_EQ(MeasureMagnitudes(source, std::nullopt)->largest, 90);
  EXPECT_EQ(MeasureMagnitudes(source, std::nullopt)->feature, 1u);
  std::vector<uint32_t> rows = Iota(8, 5000);
  EXPECT_EQ(MeasureMagnitudes(source, rows)->largest, 40);
}

TEST(DataView, FeaturesThatOneDrownsAreCounted) {
  for (const bool sparse : {false, true}) {
    Dataset data = {.features = 4, .sparse = sparse, .label = {0, 0}};
    if (sparse) {
      data.row_begin = {0, 2, 3};
      data.column = {0, 1, 2};
      data.value = {0.5f, -1e6f, 200.0f};
    } else {
      data.dense = {0.5f, -1e6f, 0, 0, 0, 0, 200.0f, 0};
    }
    const Magnitudes sizes = *MeasureMagnitudes(MemorySource(data), std::nullopt);
    EXPECT_EQ(sizes.largest, 1e6f);
    EXPECT_EQ(sizes.feature, 1u);
    EXPECT_EQ(sizes.used, 3u) << "the last one is always 0";
    EXPECT_EQ(sizes.drowned, 1u);
    EXPECT_EQ(sizes.first_drowned, 0u);
  }
}

}  // namespace
}  // namespace motley
