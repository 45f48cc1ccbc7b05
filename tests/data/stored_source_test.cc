// SPDX-License-Identifier: Apache-2.0
// Data that do not fit into memory are unchanged when read back.
#include "data/tables/stored_source.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "data/readers.h"
#include "tests/data/arrays.h"
#include "tests/data/gzip.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

using testing::HasSubstr;

std::string CsvText(const Dataset& data) {
  std::string text;
  for (size_t row = 0; row < data.rows(); ++row) {
    for (uint32_t f = 0; f < data.features; ++f) {
      text += std::to_string(data.dense[row * data.features + f]) + ",";
    }
    text += std::to_string(static_cast<int>(data.label[row])) + "\n";
  }
  return text;
}

std::string LibsvmText(const Dataset& data) {
  std::string text;
  for (size_t row = 0; row < data.rows(); ++row) {
    text += std::to_string(static_cast<int>(data.label[row]));
    for (uint64_t e = data.row_begin[row]; e < data.row_begin[row + 1]; ++e) {
      text += " " + std::to_string(data.column[e] + 1) + ":" + std::to_string(data.value[e]);
    }
    text += "\n";
  }
  return text;
}

void ExpectSameData(const DataSource& one, const DataSource& other) {
  const DataShape shape = one.shape();
  ASSERT_EQ(shape.rows, other.shape().rows);
  const auto same = [](const Result<Dataset>& a, const Result<Dataset>& b) {
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(EncodeBlock(*a, 0, a->rows()), EncodeBlock(*b, 0, b->rows()));
  };
  same(one.Range(0, shape.rows), other.Range(0, shape.rows));
  same(one.Range(shape.rows / 3, shape.rows / 2), other.Range(shape.rows / 3, shape.rows / 2));
  for (size_t row = 0; row < shape.rows; row += 101) {
    EXPECT_EQ(*one.LabelOf(row), one.Range(row, row + 1)->label[0]);
  }
  Random random(4, Stream::kTest);
  std::vector<uint32_t> rows;
  for (int i = 0; i < 500; ++i) rows.push_back(static_cast<uint32_t>(random.Below(shape.rows)));
  for (uint32_t i = 0; i < 50; ++i) rows.push_back(i);
  same(one.Gather(rows), other.Gather(rows));
}

TEST(StoredSource, WhatGoesToTheFileComesBackTheSame) {
  const TemporaryFolder folder;
  const Dataset dense = MakeSamples(40, 3, false, 30000, 1);
  const Dataset sparse = MakeSamples(60, 3, true, 30000, 2);
  std::string bytes = Raw(dense.dense);
  const std::string labels = folder.Write("y", Npy("<f4", "(30000,)", Raw(dense.label)));
  const std::string specs[] = {
      folder.Write("a.csv", CsvText(dense)), folder.Write("a.csv.gz", GzipText(CsvText(dense))),
      folder.Write("a.libsvm", LibsvmText(sparse)),
      folder.Write("a.npy", Npy("<f4", "(30000, 40)", bytes)) + ":labels=" + labels};
  for (const std::string& spec : specs) {
    const auto memory = OpenTrainingData(spec, {.memory_bytes = uint64_t{1} << 30});
    ASSERT_TRUE(memory.ok()) << memory.status().ToString();
    for (const uint64_t limit : {uint64_t{1}, uint64_t{2} << 20}) {
      const auto stored = OpenTrainingData(spec, {.memory_bytes = limit});
      ASSERT_TRUE(stored.ok()) << stored.status().ToString();
      ExpectSameData(*memory->train, *stored->train);
    }
  }
}

TEST(StoredSource, AFolderThatTakesNoFileIsNamed) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.csv", "1,0\n2,1\n");
  const char* before = getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", "/proc", 1);
  const auto refused = OpenTrainingData(path, {.memory_bytes = 1});
  before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), StatusCode::kResource);
  EXPECT_THAT(refused.status().ToString(), HasSubstr("/proc"));
  EXPECT_THAT(refused.status().ToString(), HasSubstr("TMPDIR"));
  EXPECT_TRUE(OpenTrainingData(path, {.memory_bytes = 1}).ok());
}

}  // namespace
}  // namespace motley
