// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <set>

#include "tests/training/test_data.h"

namespace motley {
namespace {

void ExpectSame(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.features, b.features);
  EXPECT_EQ(a.classes, b.classes);
  EXPECT_EQ(a.sparse, b.sparse);
  EXPECT_EQ(a.dense, b.dense);
  EXPECT_EQ(a.row_begin, b.row_begin);
  EXPECT_EQ(a.column, b.column);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.label, b.label);
}

TEST(Dataset, SelectTakesRowsInTheGivenOrder) {
  for (const bool sparse : {false, true}) {
    const Dataset data = MakeSamples(5, 3, sparse, 10, 1);
    const Dataset picked = Select(data, std::vector<uint32_t>{7, 2, 7});
    const Dataset dense = Densify(data);
    const Dataset picked_dense = Densify(picked);
    ASSERT_EQ(picked.rows(), 3u);
    const size_t from[] = {7, 2, 7};
    for (size_t row = 0; row < 3; ++row) {
      EXPECT_EQ(picked.label[row], data.label[from[row]]);
      for (size_t c = 0; c < 5; ++c) {
        EXPECT_EQ(picked_dense.dense[row * 5 + c], dense.dense[from[row] * 5 + c]);
      }
    }
  }
}

TEST(Dataset, AppendingPartsGivesTheWhole) {
  for (const bool sparse : {false, true}) {
    const Dataset data = MakeSamples(5, 3, sparse, 10, 1);
    Dataset parts = Select(data, Iota(0, 4));
    Append(data, Iota(4, 10), parts);
    ExpectSame(parts, data);
  }
}

TEST(Block, ComesBackAsItWas) {
  for (const bool sparse : {false, true}) {
    for (const uint32_t classes : {0u, 3u}) {
      const Dataset data = MakeSamples(5, classes, sparse, 20, 1);
      const auto block = DecodeBlock(EncodeBlock(data, 0, 20), 5, classes, sparse);
      ASSERT_TRUE(block.ok()) << block.status().ToString();
      ExpectSame(*block, data);
      const auto part = DecodeBlock(EncodeBlock(data, 4, 9), 5, classes, sparse);
      ASSERT_TRUE(part.ok()) << part.status().ToString();
      ExpectSame(*part, Select(data, Iota(4, 9)));
      const auto none = DecodeBlock(EncodeBlock(data, 6, 6), 5, classes, sparse);
      ASSERT_TRUE(none.ok()) << none.status().ToString();
      EXPECT_EQ(none->rows(), 0u);
    }
  }
}

TEST(Block, OtherShapesAreRefused) {
  const Bytes bytes = EncodeBlock(MakeSamples(5, 3, false, 20, 1), 0, 20);
  EXPECT_EQ(DecodeBlock(bytes, 6, 3, false).code(), StatusCode::kDataError);
  EXPECT_EQ(DecodeBlock(bytes, 5, 2, false).code(), StatusCode::kDataError);
  EXPECT_EQ(DecodeBlock(bytes, 5, 0, false).code(), StatusCode::kDataError);
  EXPECT_EQ(DecodeBlock(bytes, 5, 3, true).code(), StatusCode::kDataError);
}

TEST(Block, EveryTruncationAndExtensionIsRefused) {
  for (const bool sparse : {false, true}) {
    Bytes bytes = EncodeBlock(MakeSamples(4, 3, sparse, 6, 1), 0, 6);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const auto cut = DecodeBlock(BytesView(bytes).first(size), 4, 3, sparse);
      EXPECT_EQ(cut.code(), StatusCode::kDataError) << size;
    }
    bytes.push_back(std::byte{0});
    EXPECT_EQ(DecodeBlock(bytes, 4, 3, sparse).code(), StatusCode::kDataError);
  }
}

// Encodes `data`, which no reader would accept.
void ExpectRefused(const Dataset& data) {
  const auto block =
      DecodeBlock(EncodeBlock(data, 0, data.rows()), data.features, data.classes, data.sparse);
  EXPECT_EQ(block.code(), StatusCode::kDataError);
}

TEST(Block, ValuesAndLabelsThatCannotBeAreRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool sparse : {false, true}) {
    const Dataset good = MakeSamples(4, 3, sparse, 6, 1);
    for (const float label : {3.0f, -1.0f, 0.5f, nan}) {
      Dataset bad = good;
      bad.label[2] = label;
      ExpectRefused(bad);
    }
    for (const float value : {nan, std::numeric_limits<float>::infinity()}) {
      Dataset bad = good;
      (sparse ? bad.value : bad.dense)[1] = value;
      ExpectRefused(bad);
    }
  }
  Dataset regression = MakeSamples(4, 0, false, 6, 1);
  regression.label[0] = nan;
  ExpectRefused(regression);
}

TEST(Block, ColumnsOutOfRangeOrOrderAreRefused) {
  Dataset data;
  data.features = 4;
  data.classes = 2;
  data.sparse = true;
  data.row_begin = {0, 2, 3};
  data.column = {1, 3, 0};
  data.value = {1, 2, 3};
  data.label = {0, 1};
  ASSERT_TRUE(DecodeBlock(EncodeBlock(data, 0, 2), 4, 2, true).ok());
  Dataset bad = data;
  bad.column[1] = 4;
  ExpectRefused(bad);
  bad = data;
  bad.column[0] = 3;
  ExpectRefused(bad);
}

TEST(Block, ClaimedSizesBeyondTheMessageAreRefusedWithoutAllocation) {
  ByteWriter writer;
  for (const uint32_t word : {~0u, 2u, 0u, ~0u}) writer.Put(word);  // Features to rows.
  writer.Put(uint64_t{0});
  EXPECT_EQ(DecodeBlock(writer.Take(), ~0u, 2, false).code(), StatusCode::kDataError);
  ByteWriter sparse;
  for (const uint32_t word : {9u, 2u, 1u, 0u}) sparse.Put(word);
  sparse.Put(~uint64_t{0});
  EXPECT_EQ(DecodeBlock(sparse.Take(), 9, 2, true).code(), StatusCode::kDataError);
}

TEST(Split, KeepsEverySampleOnceAndDependsOnTheSeed) {
  Dataset data = MakeSamples(1, 0, false, 100, 1);
  for (size_t row = 0; row < 100; ++row) data.label[row] = static_cast<float>(row);
  const auto split = SplitDataset(data, 0.8, 7);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->train.rows(), 80u);
  std::multiset<float> labels(split->train.label.begin(), split->train.label.end());
  labels.insert(split->test.label.begin(), split->test.label.end());
  EXPECT_EQ(labels, std::multiset<float>(data.label.begin(), data.label.end()));
  EXPECT_FALSE(std::is_sorted(split->train.label.begin(), split->train.label.end()));
  EXPECT_EQ(split->train.label, SplitDataset(data, 0.8, 7)->train.label);
  EXPECT_NE(split->train.label, SplitDataset(data, 0.8, 8)->train.label);
}

TEST(Split, LeavesNeitherPartEmpty) {
  const Dataset two = MakeSamples(1, 0, false, 2, 1);
  EXPECT_EQ(SplitDataset(two, 0.999, 1)->test.rows(), 1u);
  EXPECT_EQ(SplitDataset(two, 0.001, 1)->train.rows(), 1u);
  EXPECT_EQ(SplitDataset(Select(two, Iota(0, 1)), 0.5, 1).code(), StatusCode::kInvalidArgument);
}

TEST(Split, FractionsOutsideZeroAndOneAreRefused) {
  const Dataset data = MakeSamples(1, 0, false, 10, 1);
  for (const double fraction : {0.0, 1.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(SplitDataset(data, fraction, 1).code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace motley
