// SPDX-License-Identifier: Apache-2.0
// Gap-Aware updates are held to a training in double precision, written from the paper's rule.
#include "training/optimizers/gap_penalty.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/training/test_data.h"
#include "training/optimizers/optimizer.h"

namespace motley {
namespace {

using Vector = std::vector<double>;

constexpr size_t kCount = 7;
constexpr double kMomentum = 0.9;
constexpr double kFade = 0.999;

// The gradient of a quadratic with another noise in each update. Some parameters are much steeper.
Vector GradientAt(const Vector& w, uint64_t update) {
  Random random(update, Stream::kTest, 3);
  Vector gradient(w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    gradient[i] = (0.1 + static_cast<double>(i)) * (w[i] - 1) + 0.2 * (random.NextDouble() - 0.5);
  }
  return gradient;
}

// A master of the paper: v = m v + g / G, w -= rate v, where G is 1 + |w - w_i| / C for each
// parameter, and C is the largest rate times the root of the mean square of v.
class Master {
 public:
  explicit Master(double momentum) : momentum_(momentum) {}

  void Apply(const Vector& gradient, const Vector& computed_with, double rate) {
    largest_ = std::max(largest_, rate);
    const double whole = 1 - std::pow(kFade, static_cast<double>(updates_));
    for (size_t i = 0; i < kCount; ++i) {
      double penalty = 1;
      if (updates_ > 0) {
        const double average = largest_ * (std::sqrt(squares_[i] / whole) + 1e-8);
        penalty += std::abs(w_[i] - computed_with[i]) / average;
      }
      v_[i] = momentum_ * v_[i] + gradient[i] / penalty;
      w_[i] -= rate * v_[i];
      squares_[i] = kFade * squares_[i] + (1 - kFade) * v_[i] * v_[i];
    }
    ++updates_;
  }
  const Vector& parameters() const { return w_; }

 private:
  const double momentum_;
  Vector w_ = Vector(kCount), v_ = Vector(kCount), squares_ = Vector(kCount);
  double largest_ = 0;
  uint64_t updates_ = 0;
};

std::vector<float> Floats(const Vector& values, double factor = 1) {
  std::vector<float> floats;
  for (const double each : values) floats.push_back(static_cast<float>(each * factor));
  return floats;
}

OptimizerOptions ByGap(const std::string& name, double rate) {
  return {.name = name,
          .learning_rate = rate,
          .momentum = kMomentum,
          .old_gradients = OldGradients::kGap};
}

// Workers answer in a random order, and the rate falls in the middle.
void TrainsAsThePaperSays(const std::string& name, double momentum) {
  TestRig rig;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed, Stream::kTest, 1);
    const size_t workers = 1 + random.Below(8);
    const double rate = 0.002 + 0.02 * random.NextDouble();
    const auto optimizer = Optimizer::Create(ByGap(name, rate), kCount).value();
    Master master(momentum);
    std::vector<float> parameters(kCount);
    struct Worker {
      Vector held = Vector(kCount);
      std::vector<float> sent = std::vector<float>(kCount);
      uint64_t version = 0;
    };
    std::vector<Worker> each(workers);
    for (uint64_t update = 0; update < 150; ++update) {
      Worker& worker = each[random.Below(workers)];
      const double factor = update < 100 ? 1 : 0.2;
      const double weight = 1 + static_cast<double>(random.Below(40));
      const Vector gradient = GradientAt(worker.held, update);
      std::vector<float> sum = Floats(gradient, weight);
      Contribution from{
          .weight = weight, .rate_factor = factor, .staleness = update - worker.version};
      from.computed_with = worker.sent;
      ASSERT_TRUE(optimizer->Apply(*rig.device, sum, parameters, from).ok());
      master.Apply(gradient, worker.held, rate * factor);
      worker = {master.parameters(), parameters, update + 1};
      for (size_t i = 0; i < kCount; ++i) {
        const double expected = master.parameters()[i];
        ASSERT_NEAR(parameters[i], expected, 1e-4 * (1 + std::abs(expected)))
            << "seed " << seed << ", update " << update << ", parameter " << i;
      }
    }
  }
}

TEST(GapPenalty, DividesGradientsAsThePaperSaysInRandomSchedules) {
  TrainsAsThePaperSays("sgd", 0);
}

TEST(GapPenalty, DividesGradientsBeforeTheMomentumInRandomSchedules) {
  TrainsAsThePaperSays("momentum", kMomentum);
}

TEST(GapPenalty, IsTheNumberOfAverageStepsFromWhereTheGradientWasComputed) {
  GapPenalty gap(3, 1);
  const std::vector<float> start(3), moved = {0.1f, 0.1f, 0}, now = {0.4f, 0.1f, 0};
  for (int update = 0; update < 5; ++update) {
    gap.Begin(0, 0.5);
    gap.Measure(0, 0, 3, start.data(), moved.data());
    gap.End();
  }
  std::vector<float> gradient = {8, 8, 8};
  gap.Divide(0, 0, 3, now.data(), moved.data(), gradient.data());
  EXPECT_NEAR(gradient[0], 8 / (1 + 3.0), 1e-4) << "it is 3 steps of 0.1 away";
  EXPECT_EQ(gradient[1], 8) << "it did not move";
  EXPECT_EQ(gradient[2], 8) << "it never moved";
}

TEST(GapPenalty, FallsWithTheRate) {
  GapPenalty gap(1, 1);
  const float start = 0, step = 0.1f, small = 0.01f;
  gap.Begin(0, 0.5);
  gap.Measure(0, 0, 1, &start, &step);
  gap.End();
  gap.Begin(0, 0.05);  // Steps of 0.01 are as long as before per unit of rate.
  gap.Measure(0, 0, 1, &start, &small);
  gap.End();
  float gradient = 1;
  gap.Divide(0, 0, 1, &small, &start, &gradient);
  EXPECT_NEAR(gradient, 1 / 1.1, 1e-5);
}

// A rule that moves parameters in place is measured as one that writes the next version.
TEST(GapPenalty, IsTheSameInPlaceAndForEachRule) {
  TestRig rig;
  for (const char* const name : {"sgd", "momentum", "nag", "adam", "adamw"}) {
    OptimizerOptions options = ByGap(name, 0.01);
    options.groups = {{3, 0.01, 0.1, 0}, {5, 0, 0, 0}, {kCount, 0.1, 0, 0}};
    const auto in_place = Optimizer::Create(options, kCount).value();
    const auto beside = Optimizer::Create(options, kCount).value();
    std::vector<float> a(kCount, 2), first = a;
    std::vector<std::vector<float>> versions = {a};
    for (uint64_t update = 0; update < 20; ++update) {
      const Vector at(a.begin(), a.end());
      std::vector<float> sum = Floats(GradientAt(at, update), 4), same = sum;
      Contribution from{.weight = 4, .staleness = update};
      from.computed_with = first;
      ASSERT_TRUE(in_place->Apply(*rig.device, sum, a, from).ok());
      std::vector<float> next(kCount);
      ASSERT_TRUE(*beside->Advance(*rig.device, same, versions.back(), next, from));
      EXPECT_EQ(std::memcmp(a.data(), next.data(), sizeof(float) * kCount), 0) << name;
      EXPECT_EQ(a[4], 2) << "its group has a rate of 0";
      versions.push_back(next);
    }
  }
}

TEST(GapPenalty, OfAnOldGradientNeedsItsParameters) {
  TestRig rig;
  const auto optimizer = Optimizer::Create(ByGap("sgd", 0.1), kCount).value();
  std::vector<float> parameters(kCount), sum(kCount, 1);
  EXPECT_TRUE(optimizer->Apply(*rig.device, sum, parameters, {.weight = 1}).ok());
  EXPECT_EQ(optimizer->Apply(*rig.device, sum, parameters, {.weight = 1, .staleness = 1}).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace motley
