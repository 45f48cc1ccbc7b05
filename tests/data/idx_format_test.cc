// SPDX-License-Identifier: Apache-2.0
#include "data/formats/idx_format.h"

#include <gmock/gmock.h>

#include "tests/data/gzip.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Idx(const std::vector<uint32_t>& shape, const std::string& data, char type = 8) {
  std::string text = {0, 0, type, static_cast<char>(shape.size())};
  for (const uint32_t extent : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(extent >> shift);
  }
  return text + data;
}

const std::string kImages = Idx({2, 1, 3}, std::string("\x00\xff\x33\x01\x02\x03", 6));
const std::string kLabels = Idx({2}, "\x04\x01");

void ExpectFails(const std::string& spec, StatusCode code, const std::string& part) {
  const auto data = ReadTrainingData(spec, {});
  EXPECT_EQ(data.code(), code) << data.status().ToString();
  EXPECT_THAT(data.status().ToString(), HasSubstr(part));
}

TEST(Idx, ImagesBecomeValuesFromZeroToOneWithTheirLabels) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("my-images-idx3-ubyte", kImages);
  folder.Write("my-labels-idx1-ubyte", kLabels);
  const auto data = ReadTrainingData(path, {});
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->train.features, 3u);
  EXPECT_FLOAT_EQ(data->train.dense[1], 1.0f);
  EXPECT_FLOAT_EQ(data->train.dense[2], 0.2f);
  EXPECT_THAT(data->class_labels, ElementsAre(1, 4));
  EXPECT_THAT(data->train.label, ElementsAre(1, 0));
}

TEST(Idx, LabelsAreFoundPackedOrNot) {
  for (const bool images_packed : {false, true}) {
    for (const bool labels_packed : {false, true}) {
      const TemporaryFolder folder;
      const std::string path =
          folder.Write(images_packed ? "x-images-idx3-ubyte.gz" : "x-images-idx3-ubyte",
                       images_packed ? GzipText(kImages) : kImages);
      folder.Write(labels_packed ? "x-labels-idx1-ubyte.gz" : "x-labels-idx1-ubyte",
                   labels_packed ? GzipText(kLabels) : kLabels);
      EXPECT_TRUE(ReadTrainingData(path, {}).ok());
    }
  }
}

TEST(Idx, FolderInMnistLayoutGivesTrainAndTest) {
  const TemporaryFolder folder;
  folder.Write("train-images-idx3-ubyte", kImages);
  folder.Write("train-labels-idx1-ubyte", kLabels);
  folder.Write("t10k-images-idx3-ubyte.gz", GzipText(Idx({1, 1, 3}, "abc")));
  folder.Write("t10k-labels-idx1-ubyte.gz", GzipText(Idx({1}, "\x01")));
  const auto data = ReadTrainingData(folder.Path(""), {});
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->train.rows(), 2u);
  ASSERT_TRUE(data->test.has_value());
  EXPECT_EQ(data->test->rows(), 1u);
}

TEST(Idx, FolderWithTheTestPartAloneIsATrainingSet) {
  const TemporaryFolder folder;
  folder.Write("t10k-images-idx3-ubyte", kImages);
  folder.Write("t10k-labels-idx1-ubyte", kLabels);
  const auto data = ReadTrainingData(folder.Path(""), {});
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->train.rows(), 2u);
  EXPECT_FALSE(data->test.has_value());
}

TEST(Idx, FolderWithoutImagesSaysWhatItLooksFor) {
  const TemporaryFolder folder;
  ExpectFails(folder.Path(""), StatusCode::kNotFound, "train-images-idx3-ubyte");
}

TEST(Idx, MissingLabelsAreNamed) {
  const TemporaryFolder folder;
  ExpectFails(folder.Write("my-images-idx3-ubyte", kImages), StatusCode::kNotFound,
              "my-labels-idx1-ubyte");
  ExpectFails(folder.Write("pixels", kImages), StatusCode::kNotFound, "does not contain 'images'");
}

TEST(Idx, FilesThatBelieTheirHeaderAreRefused) {
  const TemporaryFolder folder;
  folder.Write("a-labels-idx1", kLabels);
  const auto expect = [&](const std::string& content, const std::string& part) {
    ExpectFails(folder.Write("a-images-idx3", content), StatusCode::kDataError, part);
  };
  expect(kImages.substr(0, kImages.size() - 1), "has 5 bytes of data, but its header says 2x1x3");
  expect(kImages + "x", "has 7 bytes of data, but its header says 2x1x3");
  expect(kImages.substr(0, 9), "truncated inside its header, at byte 9");
  expect(Idx({~0u, ~0u, ~0u}, "abc"), "its header says");
  expect(Idx({2, 1, 1}, std::string(8, 'x'), 0x0d), "IDX type 0x0d");
  expect(Idx({3, 1, 1}, "abc"), "has 2 labels but");
  expect(Idx({2}, "ab"), "so it holds labels");
  expect(Idx({0, 1, 1}, ""), "has 2 labels but");
  expect(Idx({2, 0}, ""), "its header says 2x0");
}

TEST(Idx, DamagedLabelsAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a-images-idx3", kImages);
  for (const std::string& labels : {std::string("nonsense"), Idx({2, 1}, "ab"), Idx({3}, "ab")}) {
    folder.Write("a-labels-idx1", labels);
    ExpectFails(path, StatusCode::kDataError, "a-labels-idx1");
  }
}

}  // namespace
}  // namespace motley
