// SPDX-License-Identifier: Apache-2.0
// What every model must do. Its test instantiates ModelSuite with a ModelCase per shape.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tests/training/reference.h"
#include "tests/training/test_data.h"
#include "training/model_session.h"

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
  // Not the model's own start, where many gradients are special.
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
  // Sampled for wide models; all of them for narrow ones.
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
