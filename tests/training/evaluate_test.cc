// SPDX-License-Identifier: Apache-2.0
// Compares scores with values that were computed by hand.
#include "training/models/evaluate.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace motley {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Evaluation OfScores(Loss loss, const std::vector<std::pair<float, float>>& score_and_label) {
  Evaluator evaluator(loss, 2);
  for (const auto& [score, label] : score_and_label) evaluator.Add({&score, 1}, label);
  return evaluator.Finish();
}

TEST(Evaluator, ScoresTwoClasses) {
  // Labels by score: 0 1 | 0 1 1, where the bar marks the sign change.
  const Evaluation found = OfScores(Loss::kLogistic, {{-2, 0}, {-1, 1}, {1, 0}, {2, 1}, {3, 1}});
  EXPECT_EQ(found.samples, 5u);
  EXPECT_DOUBLE_EQ(*found.accuracy, 3.0 / 5);
  EXPECT_THAT(found.confusion, ElementsAre(1, 1, 1, 2));
  EXPECT_DOUBLE_EQ(*found.f1, (0.5 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(*found.auc, 5.0 / 6) << "one of six pairs is in the wrong order";
  const double loss = std::log1p(std::exp(-2.0)) + 2 * std::log1p(std::exp(1.0)) +
                      std::log1p(std::exp(-2.0)) + std::log1p(std::exp(-3.0));
  EXPECT_DOUBLE_EQ(found.loss, loss / 5);
  EXPECT_EQ(found.log_loss, found.loss);
  EXPECT_FALSE(found.r2.has_value());
  EXPECT_FALSE(found.rmse.has_value());
}

TEST(Evaluator, WeighsClassesInTheLossThatIsJudgedAlone) {
  Evaluator evaluator(Loss::kLogistic, 2, {1, 3}), plain(Loss::kLogistic, 2);
  for (const auto& [score, label] :
       std::initializer_list<std::pair<float, float>>{{-2, 0}, {1, 1}}) {
    evaluator.Add({&score, 1}, label);
    plain.Add({&score, 1}, label);
  }
  const Evaluation found = evaluator.Finish();
  const double first = std::log1p(std::exp(-2.0)), second = std::log1p(std::exp(-1.0));
  EXPECT_DOUBLE_EQ(found.weighted_loss, (first + 3 * second) / 4);
  EXPECT_DOUBLE_EQ(found.loss, (first + second) / 2);
  EXPECT_EQ(plain.Finish().weighted_loss, plain.Finish().loss);
}

TEST(Evaluator, CountsTiesOfScoresHalf) {
  EXPECT_DOUBLE_EQ(*OfScores(Loss::kLogistic, {{1, 0}, {1, 1}, {1, 1}, {0, 0}}).auc, 0.75);
}

TEST(Evaluator, HasNoAucOfOneClassAndNoLogLossOfHinge) {
  const Evaluation found = OfScores(Loss::kHinge, {{2, 1}, {0.5, 1}});
  EXPECT_FALSE(found.auc.has_value());
  EXPECT_FALSE(found.log_loss.has_value());
  EXPECT_DOUBLE_EQ(found.loss, 0.25);
  EXPECT_DOUBLE_EQ(*found.f1, 1) << "class 0 does not occur";
}

TEST(Evaluator, ScoresManyClasses) {
  Evaluator evaluator(Loss::kSoftmax, 3);
  const auto add = [&](std::vector<float> scores, float label) { evaluator.Add(scores, label); };
  add({1, 0, 0}, 0);
  add({0, 1, 0}, 1);
  add({0, 1, 0}, 2);
  add({0, 0, 1}, 2);
  const Evaluation found = evaluator.Finish();
  EXPECT_THAT(found.confusion, ElementsAre(1, 0, 0, 0, 1, 0, 0, 1, 1));
  EXPECT_DOUBLE_EQ(*found.accuracy, 0.75);
  EXPECT_DOUBLE_EQ(*found.f1, (1 + 2.0 / 3 + 2.0 / 3) / 3);
  EXPECT_FALSE(found.auc.has_value());
  const double sum = std::exp(1.0) + 2;
  EXPECT_DOUBLE_EQ(found.loss, (3 * (std::log(sum) - 1) + std::log(sum)) / 4);
}

TEST(Evaluator, LeavesOutTheMatrixOfVeryManyClasses) {
  Evaluator evaluator(Loss::kSoftmax, kMostConfused + 1);
  evaluator.Add(std::vector<float>(kMostConfused + 1), 0);
  EXPECT_THAT(evaluator.Finish().confusion, IsEmpty());
}

TEST(Evaluator, ScoresRealNumbers) {
  Evaluator evaluator(Loss::kSquared, 0);
  const std::pair<float, float> rows[] = {{1, 2}, {2, 4}, {6, 6}};  // Output and label.
  for (const auto& [output, label] : rows) evaluator.Add({&output, 1}, label);
  const Evaluation found = evaluator.Finish();
  EXPECT_DOUBLE_EQ(found.loss, (1.0 + 4 + 0) / 2 / 3);
  EXPECT_DOUBLE_EQ(*found.rmse, std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(*found.mae, 1);
  EXPECT_DOUBLE_EQ(*found.r2, 1 - 5.0 / 8);
  EXPECT_FALSE(found.accuracy.has_value());
}

TEST(Evaluator, HasNoR2OfLabelsThatAreAllTheSame) {
  Evaluator evaluator(Loss::kSquared, 0);
  const float output = 1;
  evaluator.Add({&output, 1}, 3);
  evaluator.Add({&output, 1}, 3);
  EXPECT_FALSE(evaluator.Finish().r2.has_value());
}

TEST(Evaluator, TakesScoresThatAreNotFiniteForNoClass) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Evaluation found = OfScores(Loss::kLogistic, {{nan, 0}, {1, 1}});
  EXPECT_DOUBLE_EQ(*found.accuracy, 0.5);
  EXPECT_THAT(found.confusion, ElementsAre(0, 0, 0, 1));
  EXPECT_FALSE(found.auc.has_value());
}

}  // namespace
}  // namespace motley
