// SPDX-License-Identifier: Apache-2.0
#include "training/model.h"

#include <gmock/gmock.h>

#include "tests/conformance/model_suite.h"

namespace motley {
namespace {

std::vector<ModelCase> Cases() {
  std::vector<ModelCase> cases;
  for (const ModelSpec& spec : std::initializer_list<ModelSpec>{{"linear", 9, 0},
                                                                {"logistic", 9, 2},
                                                                {"softmax", 9, 2},
                                                                {"softmax", 40, 10},
                                                                {"mlp:8", 12, 2},
                                                                {"mlp:16,7,5", 21, 4},
                                                                {"mlp:1", 1, 2}}) {
    for (const bool sparse : {false, true}) cases.push_back({spec, sparse});
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Builtin, ModelSuite, testing::ValuesIn(Cases()));

TEST(Model, SingleLayerModelsStartAtZero) {
  const auto model = MakeModel({"softmax", 5, 3});
  std::vector<float> parameters(model->parameter_count(), 1.0f);
  model->Initialize(1, parameters);
  EXPECT_THAT(parameters, testing::Each(0.0f));
}

TEST(Model, MlpStartsWithVarianceTwoOverInputsAndZeroBias) {
  const auto model = MakeModel({"mlp:200", 50, 2});
  std::vector<float> parameters(model->parameter_count());
  model->Initialize(1, parameters);
  for (const ParameterRange& range : model->ranges()) {
    double squares = 0;
    for (size_t i = range.offset; i < range.offset + range.count; ++i) {
      squares += double{parameters[i]} * parameters[i];
    }
    const bool bias = range.shape.size() == 1;
    const double wanted = bias ? 0 : 2.0 / range.shape[0];
    EXPECT_NEAR(squares / static_cast<double>(range.count), wanted, 0.15 * wanted) << range.name;
  }
}

TEST(Model, RangesNameLayersAndShapes) {
  const auto model = MakeModel({"mlp:4", 3, 2});
  ASSERT_EQ(model->ranges().size(), 4u);
  EXPECT_EQ(model->ranges()[0].name, "layer0.weight");
  EXPECT_THAT(model->ranges()[0].shape, testing::ElementsAre(3, 4));
  EXPECT_EQ(model->ranges()[3].name, "layer1.bias");
  EXPECT_THAT(model->ranges()[3].shape, testing::ElementsAre(2));
}

std::string CreateError(const ModelSpec& spec) {
  const auto model = Model::Create(spec);
  EXPECT_EQ(model.code(), StatusCode::kInvalidArgument) << spec.name;
  return model.status().message();
}

TEST(Model, MisfitsAreRefusedWithWhatWouldFit) {
  using testing::HasSubstr;
  EXPECT_THAT(CreateError({"logistic", 4, 3}), HasSubstr("softmax"));
  EXPECT_THAT(CreateError({"softmax", 4, 0}), HasSubstr("linear"));
  EXPECT_THAT(CreateError({"softmax", 4, 1}), HasSubstr("at least 2"));
  EXPECT_THAT(CreateError({"linear", 4, 2}), HasSubstr("softmax"));
  EXPECT_THAT(CreateError({"sofmax", 4, 2}), HasSubstr("Did you mean 'softmax'"));
  EXPECT_THAT(CreateError({"softmax", 0, 2}), HasSubstr("feature"));
}

TEST(Model, BadWidthsAreRefused) {
  for (const char* name : {"mlp:", "mlp:0", "mlp:3,", "mlp:,3", "mlp:3,,4", "mlp:-1", "mlp:3x",
                           "mlp:99999999", "mlp: 3", "mlp"}) {
    EXPECT_EQ(Model::Create({name, 4, 2}).code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST(Model, SizesBeyondMemoryAreRefusedBeforeAllocation) {
  const uint32_t most = UINT32_MAX;
  EXPECT_EQ(Model::Create({"softmax", most, most}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Model::Create({"mlp:1048576,1048576", 4, 2}).code(), StatusCode::kInvalidArgument);
}

TEST(Evaluate, CountsAndAveragesOverBlocks) {
  TestRig rig;
  // More than two blocks, and not a whole number of them.
  const Dataset data = MakeSamples(6, 3, false, 2500, 4);
  const auto model = MakeModel({"softmax", 6, 3});
  std::vector<float> parameters(model->parameter_count());
  Random random(1, Stream::kTest);
  for (float& value : parameters) value = static_cast<float>(random.Normal());
  std::vector<float> outputs;
  ASSERT_TRUE(model->Forward(*rig.device, parameters, data, outputs).ok());
  size_t correct = 0;
  for (size_t row = 0; row < data.rows(); ++row) {
    const auto begin = outputs.begin() + static_cast<ptrdiff_t>(3 * row);
    correct += std::max_element(begin, begin + 3) - begin == data.label[row] ? 1 : 0;
  }
  const std::vector<double> point(parameters.begin(), parameters.end());
  const double loss = reference::LossAndGradient(model->spec(), point, data, {}) / 2500;
  const auto evaluation = Evaluate(*model, *rig.device, parameters, data);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status().ToString();
  EXPECT_NEAR(evaluation->loss, loss, 1e-5 * loss);
  EXPECT_EQ(evaluation->accuracy, static_cast<double>(correct) / 2500);
}

TEST(Evaluate, LossesAgreeWithTrainingForEveryModel) {
  TestRig rig;
  for (const ModelSpec& spec :
       {ModelSpec{"linear", 5, 0}, ModelSpec{"logistic", 5, 2}, ModelSpec{"mlp:6", 5, 3}}) {
    const Dataset data = MakeSamples(5, spec.classes, true, 100, 4);
    const auto model = MakeModel(spec);
    std::vector<float> parameters(model->parameter_count(), 0.3f);
    std::vector<float> gradient(model->parameter_count());
    double loss = 0;
    ASSERT_TRUE(model->AddGradient(*rig.device, parameters, data, 1, gradient, loss).ok());
    const auto evaluation = Evaluate(*model, *rig.device, parameters, data);
    ASSERT_TRUE(evaluation.ok());
    EXPECT_NEAR(evaluation->loss, loss / 100, 1e-5 * loss / 100) << spec.name;
  }
}

TEST(Evaluate, LogisticCountsPositiveScoresAsClassOne) {
  TestRig rig;
  Dataset data = MakeSamples(1, 2, false, 4, 1);
  data.dense = {-1, -2, 3, 4};
  data.label = {0, 1, 1, 0};
  const auto model = MakeModel({"logistic", 1, 2});
  const std::vector<float> parameters = {1, 0};
  EXPECT_EQ(Evaluate(*model, *rig.device, parameters, data)->accuracy, 0.5);
}

TEST(Evaluate, ScoresThatAreNotFiniteAreNeverCorrect) {
  TestRig rig;
  for (const ModelSpec& spec : {ModelSpec{"logistic", 2, 2}, ModelSpec{"softmax", 2, 3}}) {
    Dataset data = MakeSamples(2, spec.classes, false, 6, 1);
    std::fill(data.label.begin(), data.label.end(), 0.0f);
    const auto model = MakeModel(spec);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      const std::vector<float> parameters(model->parameter_count(), bad);
      const auto evaluation = Evaluate(*model, *rig.device, parameters, data);
      ASSERT_TRUE(evaluation.ok());
      EXPECT_EQ(evaluation->accuracy, 0) << spec.name << " with " << bad;
    }
  }
}

TEST(Evaluate, NoSamplesAreRefused) {
  TestRig rig;
  const auto model = MakeModel({"logistic", 1, 2});
  EXPECT_EQ(
      Evaluate(*model, *rig.device, std::vector<float>(2), MakeSamples(1, 2, false, 0, 1)).code(),
      StatusCode::kInvalidArgument);
}

TEST(Evaluate, StopsBetweenBlocksWhenItIsUnwanted) {
  TestRig rig;
  const Dataset data = MakeSamples(5, 2, false, 5000, 1);
  const MemorySource source(data);
  const auto model = MakeModel({"logistic", 5, 2});
  const std::vector<float> parameters(model->parameter_count(), 0.1f);
  int asked = 0;
  const auto evaluation =
      Evaluate(*model, *rig.device, parameters, source, [&] { return ++asked == 3; });
  EXPECT_EQ(evaluation.code(), StatusCode::kCancelled);
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace motley
