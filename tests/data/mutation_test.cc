// SPDX-License-Identifier: Apache-2.0
// Random damage to valid inputs gives a consistent value or an error, and never a crash. Sanitizer
// builds find more.
#include <gtest/gtest.h>

#include <functional>

#include "base/sanitizer.h"
#include "data/readers.h"
#include "data/tables/table_view.h"
#include "tests/data/arrays.h"
#include "tests/data/gzip.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/holds_together.h"
#include "tests/training/test_data.h"
#include "training/model_files/safetensors.h"

namespace motley {
namespace {

// Thread sanitizer takes twenty times as long, and only looks for data races.
#if MOTLEY_THREAD_SANITIZER
constexpr int kTimes = 300;
#else
constexpr int kTimes = 3000;
#endif

// Reads `times` damaged copies of `content`. Both outcomes must occur, or the test shows little.
void ReadDamaged(const std::string& name, const std::string& content, bool regression, int times) {
  const TemporaryFolder folder;
  folder.Write("a-labels-idx1", std::string("\0\0\x08\x01\0\0\0\x03\0\1\2", 11));
  Random random(1, Stream::kTest);
  int good = 0;
  for (int i = 0; i < times; ++i) {
    const std::string path = folder.Write(name, Damaged(content, random));
    const auto data = ReadTrainingData(path, {.regression = regression});
    if (!data.ok()) {
      EXPECT_FALSE(data.status().message().empty());
      continue;
    }
    ++good;
    fuzz::ExpectHoldsTogether(data->train);
  }
  EXPECT_LT(good, times);
}

TEST(Mutation, CsvNeverCrashes) {
  ReadDamaged("a", "x,y,kind\n1.5,2,0\n-3e1,\"4\",1\n7,8,2\n", false, kTimes);
  ReadDamaged("a", "1;2;0.5\n3;4;1.25\n", true, kTimes);
}

// Tables are read, learned and encoded; the description is damaged, too.
TEST(Mutation, TablesNeverCrash) {
  const std::string content = "x,k,what\n1.5,red,yes\n,\"b, c\",no\n7,red,yes\nNA,True,no\n";
  const TemporaryFolder folder;
  Random random(4, Stream::kTest);
  int good = 0, parsed = 0;
  for (int i = 0; i < kTimes; ++i) {
    ReadOptions options;
    options.guess = true;
    options.table = std::make_shared<TableReading>(TableOptions{});
    const auto data = OpenTrainingData(folder.Write("a", Damaged(content, random)), options);
    if (!data.ok() || !options.table->begun()) continue;
    const auto learned =
        LearnTable(*options.table, *data->train, std::nullopt, data->class_labels.empty());
    if (!learned.ok()) continue;
    ++good;
    const auto schema = std::make_shared<const TableSchema>(learned->schema);
    const TableView view(data->train, schema, *options.table);
    fuzz::ExpectHoldsTogether(*view.Range(0, view.shape().rows));
    const std::string json = ToJson(*schema);
    const auto again = ParseTableSchema(json);
    ASSERT_TRUE(again.ok()) << again.status().ToString() << json;
    parsed += ParseTableSchema(Damaged(json, random)).ok() ? 1 : 0;
  }
  EXPECT_GT(good, kTimes / 6);
  EXPECT_LT(parsed, good);
}

TEST(Mutation, LibsvmNeverCrashes) {
  ReadDamaged("a", "+1 1:0.5 7:2 # c\n-1 3:1e-3\n+1\n", false, kTimes);
}

TEST(Mutation, IdxNeverCrashes) {
  ReadDamaged("a-images-idx3", std::string("\0\0\x08\x03\0\0\0\x03\0\0\0\2\0\0\0\1abcdef", 22),
              false, kTimes);
}

TEST(Mutation, ArraysNeverCrash) {
  const std::string x = Npy("<f4", "(3, 2)", Raw<float>({1, 2, 3, 4, 5, 6}));
  const std::string y = Npy("<i8", "(3,)", Raw<int64_t>({0, 1, 1}));
  ReadDamaged("a.npy", Npy("<f4", "(3, 2)", Raw<float>({1, 0, 3, 1, 5, 2})), false, kTimes);
  ReadDamaged("a.npz", Zip({{"x.npy", x}, {"y.npy", y}}), false, kTimes);
  ReadDamaged("a.npz", Zip({{"x.npy", x}, {"y.npy", y}}, ZIP_CM_STORE), false, kTimes);
  ReadDamaged("a",
              SafetensorsOf({{"x", "F32", "[3,2]", Raw<float>({1, 2, 3, 4, 5, 6})},
                             {"y", "I64", "[3]", Raw<int64_t>({0, 1, 1})}}),
              false, kTimes);
}

TEST(Mutation, GzipNeverCrashes) {
  ReadDamaged("a.gz", GzipText("1,2,0\n3,4,1\n5,6,2\n1,2,0\n3,4,1\n"), false, kTimes);
}

TEST(Mutation, BlocksNeverCrash) {
  Random random(2, Stream::kTest);
  for (const bool sparse : {false, true}) {
    const Bytes bytes = EncodeBlock(MakeSamples(5, 3, sparse, 6, 1), 0, 6);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (int i = 0; i < 3 * kTimes; ++i) {
      const std::string damaged = Damaged(text, random);
      const auto block = DecodeBlock(AsBytes(damaged), 5, 3, sparse);
      if (!block.ok()) continue;
      fuzz::ExpectHoldsTogether(*block);
    }
  }
}

TEST(Mutation, ModelsNeverCrash) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("m");
  ASSERT_TRUE(SaveModel(path, {.spec = {"mlp:2", 2, 2},
                               .class_labels = {0, 1},
                               .parameters = std::vector<float>(12, 0.5f)})
                  .ok());
  const std::string content = *ReadFile(path);
  Random random(3, Stream::kTest);
  int refused = 0;
  for (int i = 0; i < kTimes; ++i) {
    const auto loaded = LoadModel(folder.Write("d", Damaged(content, random)));
    if (!loaded.ok()) {
      ++refused;
      continue;
    }
    const auto model = Model::Create(loaded->spec);
    ASSERT_TRUE(model.ok());
    ASSERT_EQ(loaded->parameters.size(), (*model)->parameter_count());
  }
  EXPECT_GT(refused, kTimes / 3);
}

}  // namespace
}  // namespace motley
