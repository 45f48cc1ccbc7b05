// SPDX-License-Identifier: Apache-2.0
#include "training/models/model.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/model_suite.h"
#include "training/models/evaluate.h"

namespace motley {
namespace {

std::vector<ModelCase> Cases() {
  std::vector<ModelCase> cases;
  for (const ModelSpec& spec :
       std::initializer_list<ModelSpec>{{"linear", 9, 0},
                                        {"logistic", 9, 2},
                                        {"softmax", 9, 2},
                                        {"softmax", 40, 10},
                                        {"mlp:8", 12, 2},
                                        {"mlp:16,7,5", 21, 4},
                                        {"mlp:1", 1, 2},
                                        {"mlp:6,norm,3", 9, 0},
                                        {"cnn:3/4", 16, 0},
                                        {"hinge", 9, 2},
                                        {"mlp:8,norm", 12, 2},
                                        {"mlp:16,norm,7,5,norm", 21, 4},
                                        {"cnn:3", 16, 2},
                                        {"cnn:4,5/7,norm", 36, 3},
                                        {"cnn:2,3,4/6", 192, 10},
                                        {"cnn@5x7x2:3,4", 70, 3},
                                        {"factorization:1", 1, 0},
                                        {"factorization:5", 12, 0},
                                        {"factorization:3", 9, 2},
                                        {"logistic", 9, 2, {0.25f, 3}},
                                        {"softmax", 12, 4, {1, 0, 2, 7}},
                                        {"hinge", 9, 2, {2, 0.5f}},
                                        {"mlp:8,norm", 12, 2, {3, 1}},
                                        {"cnn:4,5/7", 36, 3, {1, 2, 5}},
                                        {"factorization:3", 9, 2, {1, 4}}}) {
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

TEST(Model, HiddenLayersOfEveryKindStartAsPublished) {
  const auto variance = [](const Model& model, const std::vector<float>& parameters,
                           const std::string& name) {
    for (const ParameterRange& range : model.ranges()) {
      if (range.name != name) continue;
      double squares = 0;
      for (size_t i = range.offset; i < range.offset + range.count; ++i) {
        squares += double{parameters[i]} * parameters[i];
      }
      return squares / static_cast<double>(range.count);
    }
    ADD_FAILURE() << "no " << name;
    return 0.0;
  };
  const auto start = [](const Model& model) {
    std::vector<float> parameters(model.parameter_count());
    model.Initialize(1, parameters);
    return parameters;
  };
  const auto cnn = MakeModel({"cnn:64,32/300,norm", 64, 10});
  const std::vector<float> of_cnn = start(*cnn);
  EXPECT_NEAR(variance(*cnn, of_cnn, "conv0.weight"), 2.0 / 9, 0.15 * 2 / 9);
  EXPECT_NEAR(variance(*cnn, of_cnn, "conv1.weight"), 2.0 / (9 * 64), 0.15 * 2 / (9 * 64));
  EXPECT_NEAR(variance(*cnn, of_cnn, "layer0.weight"), 2.0 / 128, 0.15 * 2 / 128);
  EXPECT_EQ(variance(*cnn, of_cnn, "layer0.gain"), 1);
  for (const char* name : {"conv0.bias", "conv1.bias", "layer0.bias", "layer0.shift"}) {
    EXPECT_EQ(variance(*cnn, of_cnn, name), 0) << name;
  }
  const auto machine = MakeModel({"factorization:30", 50, 0});
  const std::vector<float> of_machine = start(*machine);
  EXPECT_EQ(variance(*machine, of_machine, "linear.weight"), 0);
  EXPECT_EQ(variance(*machine, of_machine, "linear.bias"), 0);
  EXPECT_NEAR(variance(*machine, of_machine, "factors"), 0.01, 0.0015);
}

TEST(Model, RangesOfImagesAndFactorsSayTheirShapes) {
  using testing::ElementsAre;
  const auto cnn = MakeModel({"cnn@4x6x2:3", 48, 5});
  EXPECT_THAT(cnn->ranges()[0].shape, ElementsAre(3, 3, 2, 3));
  EXPECT_THAT(cnn->ranges()[2].shape, ElementsAre(2 * 3 * 3, 5));
  EXPECT_EQ(cnn->parameter_count(), 9u * 2 * 3 + 3 + 18 * 5 + 5);
  const auto machine = MakeModel({"factorization:4", 9, 2});
  EXPECT_THAT(machine->ranges()[2].shape, ElementsAre(9, 4));
}

TEST(Model, CostsAreThoseOfItsProducts) {
  EXPECT_EQ(MakeModel({"softmax", 20, 3})->multiply_adds(7), 8 * 3);
  EXPECT_EQ(MakeModel({"mlp:10", 20, 3})->multiply_adds(20), 21 * 10 + 11 * 3);
  // Each pixel uses every weight of a convolution.
  EXPECT_EQ(MakeModel({"cnn:5", 16, 3})->multiply_adds(16), 16 * 10 * 5 + 21 * 3);
  EXPECT_EQ(MakeModel({"factorization:8", 1000, 0})->multiply_adds(2), 2 * (8 + 2) + 8);
}

TEST(Model, ComplexWeightsNeedPairsOfOutputsEverywhere) {
  for (const char* name : {"softmax", "mlp:8,norm,6", "cnn@4x3x1:4/6"}) {
    EXPECT_TRUE(MakeModel({name, 12, 4})->takes_complex_weights()) << name;
  }
  for (const char* name : {"mlp:8,5", "mlp:5,8", "cnn@4x3x1:3/6", "factorization:4", "logistic"}) {
    EXPECT_FALSE(MakeModel({name, 12, 2})->takes_complex_weights()) << name;
  }
  EXPECT_FALSE(MakeModel({"linear", 12, 0})->takes_complex_weights());
}

// The meaning of class_weight in scikit-learn.
TEST(Model, ASampleThatWeighsThreeCountsAsThreeOfThem) {
  TestRig rig;
  for (const char* name : {"logistic", "softmax", "hinge", "mlp:6", "factorization:2"}) {
    const Dataset batch = MakeSamples(9, 2, false, 40, 3);
    std::vector<uint32_t> repeated;
    for (uint32_t row = 0; row < batch.rows(); ++row) {
      repeated.insert(repeated.end(), batch.label[row] == 1 ? 3 : 1, row);
    }
    const Dataset copies = Select(batch, repeated);
    const auto model = MakeModel({name, 9, 2, {1, 3}}), plain = MakeModel({name, 9, 2});
    Random random(3, Stream::kTest);
    std::vector<float> parameters(model->parameter_count());
    for (float& value : parameters) value = static_cast<float>(0.4 * random.Normal());
    std::vector<float> got(parameters.size()), want(parameters.size());
    double loss = 0, wanted_loss = 0;
    ASSERT_TRUE(model->AddGradient(*rig.device, parameters, batch, 1, got, loss).ok());
    ASSERT_TRUE(plain->AddGradient(*rig.device, parameters, copies, 1, want, wanted_loss).ok());
    EXPECT_NEAR(loss, wanted_loss, 1e-6 * wanted_loss) << name;
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-5) << name << " " << i;
    EXPECT_EQ(WeightOf(model->spec(), batch.label), static_cast<double>(copies.rows()));
    EXPECT_EQ(WeightOf(plain->spec(), batch.label), static_cast<double>(batch.rows()));
  }
}

struct Dropped {
  explicit Dropped(const char* name, uint32_t features, bool sparse = false)
      : model(MakeModel({name, features, 3, {}, 0.4})),
        batch(MakeSamples(features, 3, sparse, 50, 3)),
        parameters(model->parameter_count()) {
    Random random(3, Stream::kTest);
    for (float& value : parameters) value = static_cast<float>(0.4 * random.Normal());
  }
  // The gradient of these rows of the batch, which are `samples` of the data set.
  std::vector<float> Gradient(const std::vector<uint32_t>& rows, std::vector<uint32_t> samples,
                              double& loss, uint64_t step = 5) {
    std::vector<float> gradient(parameters.size());
    EXPECT_TRUE(model
                    ->AddGradient(*rig.device, parameters, Select(batch, rows), 1, gradient, loss,
                                  {.seed = 9, .step = step, .samples = samples})
                    .ok());
    return gradient;
  }

  TestRig rig;
  std::unique_ptr<Model> model;
  Dataset batch;
  std::vector<float> parameters;
};

TEST(Dropout, GradientIsTheSlopeOfTheLossWithItsMasks) {
  Dropped of("mlp:9,6", 7);
  std::vector<float> gradient(of.parameters.size());
  double loss = 0;
  ASSERT_TRUE(
      of.model->AddGradient(*of.rig.device, of.parameters, of.batch, 1, gradient, loss).ok());
  std::vector<double> point(of.parameters.begin(), of.parameters.end());
  std::vector<double> plain(point.size());
  const double wanted = reference::LossAndGradient(of.model->spec(), point, of.batch, plain);
  EXPECT_NEAR(loss, wanted, 1e-5 * wanted);
  constexpr double kStep = 1e-6;
  for (size_t i = 0; i < point.size(); ++i) {
    const double middle = point[i];
    point[i] = middle + kStep;
    const double above = reference::LossAndGradient(of.model->spec(), point, of.batch, {});
    point[i] = middle - kStep;
    const double below = reference::LossAndGradient(of.model->spec(), point, of.batch, {});
    point[i] = middle;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-3) << i;
    EXPECT_NEAR(gradient[i], plain[i], 1e-4) << i;
  }
}

// The only reference for convolutions is the model itself.
TEST(Dropout, GradientOfImagesIsTheSlopeOfTheLossWithItsMasks) {
  Dropped of("cnn:4,5/7,norm", 36);
  const std::vector<uint32_t> rows = Iota(0, 50);
  double loss = 0;
  const std::vector<float> gradient = of.Gradient(rows, rows, loss);
  double worst = 0;
  for (size_t i = 0; i < of.parameters.size(); i += 7) {
    constexpr float kStep = 2e-3f;
    const float middle = of.parameters[i];
    double above = 0, below = 0;
    of.parameters[i] = middle + kStep;
    of.Gradient(rows, rows, above);
    of.parameters[i] = middle - kStep;
    of.Gradient(rows, rows, below);
    of.parameters[i] = middle;
    worst = std::max(worst, std::abs(gradient[i] - (above - below) / (2 * kStep)));
  }
  EXPECT_LT(worst, 0.25) << "of slopes up to 10 or so, where a unit may turn on in between";
}

TEST(Dropout, FollowsFromTheSampleAndTheStepWhereverTheRowIs) {
  for (const auto& [name, features] :
       {std::pair{"mlp:9,6", 7U}, std::pair{"cnn:4,5/7", 36U}, std::pair{"mlp:8,norm,6", 7U}}) {
    Dropped of(name, features);
    const std::vector<uint32_t> all = Iota(0, 50);
    std::vector<uint32_t> samples;
    for (const uint32_t row : all) samples.push_back(1000 + 3 * row);
    double loss = 0;
    const std::vector<float> whole = of.Gradient(all, samples, loss);
    // In two batches, in reverse order.
    const std::vector<uint32_t> turned(all.rbegin(), all.rend());
    const std::vector<uint32_t> of_turned(samples.rbegin(), samples.rend());
    double loss_of_parts = 0;
    const auto part = [&](size_t begin, size_t end) {
      return of.Gradient({turned.begin() + begin, turned.begin() + end},
                         {of_turned.begin() + begin, of_turned.begin() + end}, loss_of_parts);
    };
    const std::vector<float> first = part(0, 17), second = part(17, 50);
    EXPECT_NEAR(loss, loss_of_parts, 1e-5 * loss) << name;
    double other = 0, none = 0;
    const std::vector<float> of_step = of.Gradient(all, samples, other, 6);
    const std::vector<float> of_samples = of.Gradient(all, all, none);
    double steps = 0, others = 0;
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_NEAR(first[i] + second[i], whole[i], 1e-4) << name << " " << i;
      steps += std::abs(of_step[i] - whole[i]);
      others += std::abs(of_samples[i] - whole[i]);
    }
    EXPECT_GT(steps, 1) << "each step has its masks";
    EXPECT_GT(others, 1) << "and each sample";
  }
}

TEST(Dropout, IsNothingToPredictions) {
  for (const char* name : {"mlp:9,6", "cnn:4/7"}) {
    Dropped of(name, 36);
    const auto plain = MakeModel({name, 36, 3});
    std::vector<float> with, without;
    ASSERT_TRUE(of.model->Forward(*of.rig.device, of.parameters, of.batch, with).ok());
    ASSERT_TRUE(plain->Forward(*of.rig.device, of.parameters, of.batch, without).ok());
    EXPECT_EQ(with, without) << name;
  }
}

TEST(Dropout, OfNoHiddenLayerOrNoChanceIsRefused) {
  for (const ModelSpec& spec : std::initializer_list<ModelSpec>{{"softmax", 9, 3, {}, 0.5},
                                                                {"linear", 9, 0, {}, 0.5},
                                                                {"factorization:3", 9, 2, {}, 0.5},
                                                                {"mlp:4", 9, 3, {}, 1},
                                                                {"mlp:4", 9, 3, {}, -0.1},
                                                                {"mlp:4", 9, 3, {}, NAN}}) {
    EXPECT_EQ(Model::Create(spec).code(), StatusCode::kInvalidArgument) << spec.name;
  }
}

TEST(Model, ClassWeightsThatMakeNoSenseAreRefused) {
  const float infinite = std::numeric_limits<float>::infinity();
  for (const ModelSpec& spec : std::initializer_list<ModelSpec>{{"softmax", 9, 3, {1, 2}},
                                                                {"softmax", 9, 2, {1, -1}},
                                                                {"softmax", 9, 2, {0, 0}},
                                                                {"softmax", 9, 2, {1, infinite}},
                                                                {"linear", 9, 0, {1}}}) {
    EXPECT_EQ(Model::Create(spec).code(), StatusCode::kInvalidArgument) << spec.name;
  }
}

TEST(Model, MoreRowsThanAreDoneAtOnceChangeNothing) {
  // 48 x 48 x 27 values of patches: about 16 rows at once.
  TestRig rig;
  const auto model = MakeModel({"cnn:2,4", 48 * 48 * 3, 2});
  const Dataset batch = MakeSamples(48 * 48 * 3, 2, false, 150, 3);
  std::vector<float> parameters(model->parameter_count());
  model->Initialize(2, parameters);
  std::vector<float> whole(parameters.size()), parts(parameters.size());
  double loss = 0, loss_of_parts = 0;
  ASSERT_TRUE(model->AddGradient(*rig.device, parameters, batch, 1, whole, loss).ok());
  std::vector<float> outputs, row;
  ASSERT_TRUE(model->Forward(*rig.device, parameters, batch, outputs).ok());
  for (uint32_t i = 0; i < 150; i += 50) {
    const Dataset part = Select(batch, Iota(i, i + 50));
    ASSERT_TRUE(model->AddGradient(*rig.device, parameters, part, 1, parts, loss_of_parts).ok());
    ASSERT_TRUE(model->Forward(*rig.device, parameters, part, row).ok());
    EXPECT_TRUE(std::equal(row.begin(), row.end(), outputs.begin() + 2 * i)) << i;
  }
  EXPECT_NEAR(loss_of_parts, loss, 1e-6 * loss);
  for (size_t i = 0; i < whole.size(); ++i) {
    ASSERT_NEAR(parts[i], whole[i], 1e-4 * (1 + std::abs(whole[i]))) << i;
  }
  // The batch's cut must also cut weights: twice all rows, minus i times the last 130.
  ModelSession session(*rig.device, *model);
  const RowWeight weights[] = {{20, 2}, {130, {2, -1}}};
  std::vector<float> got(whole.size()), last(whole.size());
  double last_loss = 0;
  std::complex<double> got_loss = 0;
  ASSERT_TRUE(session.Begin(parameters, 1, got).ok());
  ASSERT_TRUE(session.Add(batch, RowWeights(weights)).ok());
  ASSERT_TRUE(session.Finish(got_loss).ok());
  const Dataset rest = Select(batch, Iota(20, 150));
  ASSERT_TRUE(model->AddGradient(*rig.device, parameters, rest, 1, last, last_loss).ok());
  EXPECT_LE(std::abs(got_loss - std::complex<double>(2 * loss, -last_loss)), 1e-6 * loss);
  for (size_t i = 0; i < whole.size(); i += 2) {
    ASSERT_NEAR(got[i], 2 * whole[i] + last[i + 1], 2e-4 * (1 + std::abs(whole[i]))) << i;
    ASSERT_NEAR(got[i + 1], 2 * whole[i + 1] - last[i], 2e-4 * (1 + std::abs(whole[i]))) << i;
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

TEST(Model, ImagesAndFactorsThatDoNotFitAreRefused) {
  using testing::HasSubstr;
  EXPECT_THAT(CreateError({"cnn:4", 65, 2}), HasSubstr("cnn@28x28x1:16,32"));
  EXPECT_THAT(CreateError({"cnn@5x7x1:4", 36, 2}), HasSubstr("35 values"));
  EXPECT_THAT(CreateError({"cnn:4,4,4", 16, 2}), HasSubstr("nothing is left"));
  EXPECT_THAT(CreateError({"cnn:1048576", 1 << 20, 2}), HasSubstr("values of one sample"));
  EXPECT_THAT(CreateError({"cnn:4", 16, 1}), HasSubstr("at least 2"));
  EXPECT_THAT(CreateError({"hinge", 4, 3}), HasSubstr("softmax"));
  EXPECT_THAT(CreateError({"factorization:4", 16, 3}), HasSubstr("real numbers or 2 classes"));
  EXPECT_THAT(CreateError({"factorisation:4", 16, 2}), HasSubstr("factorization"));
  for (const char* name :
       {"cnn", "cnn:", "cnn:0", "cnn:4/", "cnn:4/5/6", "cnn@4x4:3", "cnn@4x4x1", "cnn:4,norm",
        "cnn@0x4x4:3", "factorization", "factorization:", "factorization:0", "factorization:2,3",
        "mlp:norm", "mlp:norm,8", "mlp:8,norm,norm", "mlp:8,norm8", "hinge:2"}) {
    EXPECT_EQ(Model::Create({name, 16, 2}).code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST(Model, SizesBeyondMemoryAreRefusedBeforeAllocation) {
  const uint32_t most = UINT32_MAX;
  EXPECT_EQ(Model::Create({"softmax", most, most}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Model::Create({"mlp:1048576,1048576", 4, 2}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Model::Create({"factorization:1048576", most, 2}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Model::Create({"cnn@1048576x1048576x1048576:1", most, 2}).code(),
            StatusCode::kInvalidArgument);
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
       {ModelSpec{"linear", 9, 0}, ModelSpec{"logistic", 9, 2}, ModelSpec{"hinge", 9, 2},
        ModelSpec{"mlp:6,norm", 9, 3}, ModelSpec{"cnn:3", 9, 3}, ModelSpec{"factorization:2", 9, 0},
        ModelSpec{"factorization:2", 9, 2}, ModelSpec{"mlp:6", 9, 0}, ModelSpec{"cnn:3", 9, 0}}) {
    const Dataset data = MakeSamples(9, spec.classes, true, 100, 4);
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

TEST(Evaluate, HingeCountsPositiveScoresAsClassOne) {
  TestRig rig;
  Dataset data = MakeSamples(1, 2, false, 4, 1);
  data.dense = {-1, -2, 3, 0.25};
  data.label = {0, 1, 1, 1};
  const auto model = MakeModel({"hinge", 1, 2});
  const auto evaluation = Evaluate(*model, *rig.device, std::vector<float>{1, 0}, data);
  EXPECT_EQ(evaluation->accuracy, 0.75);
  EXPECT_EQ(evaluation->loss, (0 + 3 + 0 + 0.75) / 4);
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
