// SPDX-License-Identifier: Apache-2.0
// The contract of every model. A model's test instantiates ModelSuite with a ModelCase per shape.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "coding/kernels/combine.h"
#include "tests/training/reference.h"
#include "tests/training/test_data.h"
#include "training/models/model_session.h"
#include "training/trainers/trainer.h"

namespace motley {

struct ModelCase {
  ModelSpec spec;
  bool sparse = false;
};

inline void PrintTo(const ModelCase& value, std::ostream* out) {
  *out << value.spec.name << " on " << value.spec.features << (value.sparse ? " sparse" : " dense")
       << " features";
}

class ModelSuite : public testing::TestWithParam<ModelCase> {
 protected:
  struct Gradient {
    std::vector<float> values;
    double loss = 0;
  };

  Dataset Samples(size_t rows, uint64_t seed = 1) const {
    const ModelCase& the_case = GetParam();
    return MakeSamples(the_case.spec.features, the_case.spec.classes, the_case.sparse, rows, seed);
  }
  // Random parameters: at a model's own start many gradients are special.
  std::vector<float> Parameters() const {
    std::vector<float> parameters(model_->parameter_count());
    Random random(5, Stream::kTest);
    for (float& value : parameters) value = static_cast<float>(0.4 * random.Normal());
    return parameters;
  }
  Gradient Compute(const Dataset& batch, double weight = 1) {
    Gradient gradient{std::vector<float>(model_->parameter_count(), 0.0f)};
    Status status = session_.Begin(parameters_, 1, gradient.values);
    if (status.ok()) status = session_.Add(batch, weight);
    if (status.ok()) status = session_.Finish(gradient.loss);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return gradient;
  }
  double Loss(std::span<const double> parameters, const Dataset& batch) const {
    return reference::LossAndGradient(GetParam().spec, parameters, batch, {});
  }
  static void ExpectNear(std::span<const float> got, std::span<const float> wanted,
                         double tolerance) {
    ASSERT_EQ(got.size(), wanted.size());
    double scale = 1e-6;
    for (const float value : wanted) scale = std::max(scale, std::abs(double{value}));
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], wanted[i], tolerance * scale) << "at " << i;
    }
  }

  TestRig rig_;
  std::unique_ptr<Model> model_ = MakeModel(GetParam().spec);
  std::vector<float> parameters_ = Parameters();
  ModelSession session_{*rig_.device, *model_};
};

TEST_P(ModelSuite, GradientIsTheSlopeOfTheLoss) {
  const Dataset batch = Samples(13);
  const Gradient gradient = Compute(batch);
  std::vector<double> point(parameters_.begin(), parameters_.end());
  // Wide models are sampled; narrow ones are checked completely.
  const size_t stride = std::max<size_t>(1, point.size() / 97);
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < point.size(); i += stride) {
    const double middle = point[i];
    point[i] = middle + kStep;
    const double above = Loss(point, batch);
    point[i] = middle - kStep;
    const double below = Loss(point, batch);
    point[i] = middle;
    EXPECT_NEAR(gradient.values[i], (above - below) / (2 * kStep), 2e-4) << "parameter " << i;
  }
}

TEST_P(ModelSuite, LossAndGradientEqualThePlainOnes) {
  const Dataset batch = Samples(200);
  const Gradient gradient = Compute(batch);
  const std::vector<double> point(parameters_.begin(), parameters_.end());
  std::vector<double> plain(point.size(), 0.0);
  const double loss = reference::LossAndGradient(GetParam().spec, point, batch, plain);
  EXPECT_NEAR(gradient.loss, loss, 1e-5 * loss);
  ExpectNear(gradient.values, std::vector<float>(plain.begin(), plain.end()), 1e-5);
}

TEST_P(ModelSuite, GradientsOfTwoBatchesAddUp) {
  const Dataset both = Samples(120);
  Gradient first = Compute(Select(both, Iota(0, 47)));
  const Dataset rest = Select(both, Iota(47, 120));
  ASSERT_TRUE(
      model_->AddGradient(*rig_.device, parameters_, rest, 1, first.values, first.loss).ok());
  const Gradient whole = Compute(both);
  ExpectNear(first.values, whole.values, 1e-5);
  EXPECT_NEAR(first.loss, whole.loss, 1e-5 * whole.loss);
}

TEST_P(ModelSuite, WeightScalesGradientAndLoss) {
  const Dataset batch = Samples(30);
  const Gradient plain = Compute(batch);
  const Gradient weighted = Compute(batch, -2.5);
  std::vector<float> wanted = plain.values;
  for (float& value : wanted) value *= -2.5f;
  ExpectNear(weighted.values, wanted, 1e-6);
  EXPECT_NEAR(weighted.loss, -2.5 * plain.loss, 1e-9 * plain.loss);
}

// One pass over runs of rows, each run with a weight of its own.
TEST_P(ModelSuite, WeightsOfRowsMakeTheWeightedSum) {
  const Dataset batch = Samples(60);
  std::vector<RowWeight> weights = {{7, 0.5}, {1, -3.0}, {40, 1.0}, {12, 2.25}};
  for (const bool complex : {false, true}) {
    if (complex && !model_->takes_complex_weights()) continue;
    if (complex) weights[1].weight = {0.75, -1.5}, weights[3].weight = {0, 2};
    std::vector<float> got(model_->parameter_count(), 0.0f), wanted(got);
    std::complex<double> loss = 0, wanted_loss = 0;
    ASSERT_TRUE(session_.Begin(parameters_, 1, got).ok());
    ASSERT_TRUE(session_.Add(batch, weights).ok());
    ASSERT_TRUE(session_.Finish(loss).ok());
    size_t begin = 0;
    for (const auto& [rows, weight] : weights) {
      Gradient part = Compute(Select(batch, Iota(begin, begin + rows)));
      part.values.resize(VectorLength(part.values.size()));
      std::vector<float> padded(part.values.size());
      AddWeighted(complex ? Field::kComplexPacked : Field::kReal, weight, part.values, padded);
      for (size_t i = 0; i < wanted.size(); ++i) wanted[i] += padded[i];
      wanted_loss += weight * part.loss;
      begin += rows;
    }
    ExpectNear(got, wanted, 1e-5);
    EXPECT_LE(std::abs(loss - wanted_loss), 1e-6 * std::abs(wanted_loss));
  }
}

TEST_P(ModelSuite, EmptyBatchChangesNothing) {
  const Gradient gradient = Compute(Samples(0));
  EXPECT_EQ(gradient.loss, 0);
  for (const float value : gradient.values) ASSERT_EQ(value, 0);
  std::vector<float> outputs = {1};
  ASSERT_TRUE(model_->Forward(*rig_.device, parameters_, Samples(0), outputs).ok());
  EXPECT_TRUE(outputs.empty());
}

TEST_P(ModelSuite, SparseAndDenseAgree) {
  const Dataset batch = Samples(50);
  const Gradient mine = Compute(batch);
  const Gradient dense = Compute(Densify(batch));
  ExpectNear(mine.values, dense.values, 1e-5);
  EXPECT_NEAR(mine.loss, dense.loss, 1e-6 * dense.loss);
}

TEST_P(ModelSuite, SmallBatchAfterLargeOneIsUntouchedByIt) {
  const Dataset small = Samples(3);
  const Gradient fresh = Compute(small);
  Compute(Samples(300, 2));
  EXPECT_EQ(Compute(small).values, fresh.values);
}

TEST_P(ModelSuite, RangesCoverTheParametersInOrder) {
  size_t covered = 0;
  for (const ParameterRange& range : model_->ranges()) {
    EXPECT_EQ(range.offset, covered) << range.name;
    size_t count = 1;
    for (const uint32_t extent : range.shape) count *= extent;
    EXPECT_EQ(range.count, count) << range.name;
    covered += range.count;
  }
  EXPECT_EQ(covered, model_->parameter_count());
}

TEST_P(ModelSuite, InitializationDependsOnTheSeedAlone) {
  std::vector<float> first(model_->parameter_count(), 7.0f);
  std::vector<float> second(model_->parameter_count(), 8.0f);
  model_->Initialize(3, first);
  MakeModel(GetParam().spec)->Initialize(3, second);
  EXPECT_EQ(first, second);
}

TEST_P(ModelSuite, ForeignSizesAreRefused) {
  const Dataset batch = Samples(2);
  std::vector<float> gradient(model_->parameter_count());
  double loss = 0;
  const std::span<const float> parameters(parameters_);
  EXPECT_EQ(model_->AddGradient(*rig_.device, parameters.first(1), batch, 1, gradient, loss).code(),
            StatusCode::kInvalidArgument);
  Dataset foreign = batch;
  ++foreign.features;
  EXPECT_EQ(model_->AddGradient(*rig_.device, parameters, foreign, 1, gradient, loss).code(),
            StatusCode::kInvalidArgument);
  foreign = batch;
  foreign.classes += 3;
  EXPECT_EQ(model_->AddGradient(*rig_.device, parameters, foreign, 1, gradient, loss).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(loss, 0);
}

}  // namespace motley
