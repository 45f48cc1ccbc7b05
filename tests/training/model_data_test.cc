// SPDX-License-Identifier: Apache-2.0
#include "training/models/model_data.h"

#include <gtest/gtest.h>

#include "tests/training/test_data.h"

namespace motley {
namespace {

class ModelData : public testing::Test {
 protected:
  // Returns the number of classes and the last label.
  std::pair<uint32_t, float> Read(const std::string& model, const std::string& content) {
    const auto data = OpenDataFor(model, folder_.Write("data.csv", content), {});
    EXPECT_TRUE(data.ok()) << data.status().ToString();
    if (!data.ok()) return {};
    const DataShape shape = data->train->shape();
    EXPECT_EQ(data->class_labels.size(), shape.classes);
    return {shape.classes, data->train->Range(shape.rows - 1, shape.rows)->label[0]};
  }
  const TemporaryFolder folder_;
};

TEST_F(ModelData, LabelsAreWhatTheModelTakes) {
  using Pair = std::pair<uint32_t, float>;
  constexpr const char* kTwo = "0.5,3\n0.25,7\n1,3\n2,7\n";
  constexpr const char* kRatings = "0.5,1\n0.25,3\n1,5\n2,4\n";
  EXPECT_EQ(Read("softmax", kTwo), Pair(2, 1));
  EXPECT_EQ(Read("linear", kTwo), Pair(0, 7));
  EXPECT_EQ(Read("factorization:4", kTwo), Pair(2, 1));
  EXPECT_EQ(Read("softmax", kRatings), Pair(4, 2));
  EXPECT_EQ(Read("factorization:4", kRatings), Pair(0, 4));
  EXPECT_EQ(Read("factorization:4", "1,2.5\n2,3.75\n"), Pair(0, 3.75f));
  EXPECT_EQ(Read("factorization:4", "1,2\n2,2\n"), Pair(0, 2));
}

TEST_F(ModelData, WhatCannotBeReadEitherWayIsTold) {
  const auto broken = OpenDataFor("factorization:4", folder_.Write("a.csv", "1,2\nx,3\n"), {});
  EXPECT_EQ(broken.code(), StatusCode::kDataError);
  EXPECT_NE(broken.status().message().find("a.csv:2"), std::string::npos)
      << broken.status().ToString();
  EXPECT_EQ(OpenDataFor("factorization:4", folder_.Path("none"), {}).code(), StatusCode::kNotFound);
}

TEST_F(ModelData, MadeUpSamplesHaveTheClassesThatFit) {
  EXPECT_EQ(ClassesFor("softmax", 10), 10u);
  EXPECT_EQ(ClassesFor("cnn@4x4x1:3", 10), 10u);
  EXPECT_EQ(ClassesFor("hinge", 10), 2u);
  EXPECT_EQ(ClassesFor("linear", 10), 0u);
  EXPECT_EQ(ClassesFor("factorization:4", 10), 0u);
}

}  // namespace
}  // namespace motley
