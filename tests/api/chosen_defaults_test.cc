// SPDX-License-Identifier: Apache-2.0
#include "api/request/chosen_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "api/request/train_data.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

JudgingPlan Choose(std::string_view model, uint64_t rows, JobRequest& request) {
  const auto plan = ChooseDefaults(model, {.rows = rows, .features = 4}, request);
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  return *plan;
}

TEST(ChosenDefaults, LinearModelsAreJudgedByTheirSteps) {
  JobRequest request;
  const JudgingPlan plan = Choose("softmax", 100, request);
  EXPECT_EQ(request.optimizer.name, "adam");
  EXPECT_EQ(request.batch, 16u);
  EXPECT_GE(request.epochs * (100 / 16), 1900u) << "few samples need many epochs";
  EXPECT_THAT(request.optimizer.schedule, HasSubstr("plateau"));
  EXPECT_EQ(plan.validation, 0);
  EXPECT_EQ(plan.every_epochs, 1u);
  EXPECT_EQ(plan.patience, 10u);
  EXPECT_THAT(DescribeLearning(request, plan, 0),
              HasSubstr("10 epochs without progress in the tr"));
}

TEST(ChosenDefaults, NetworksHoldSamplesOutWhereThereAreEnough) {
  for (const auto& [rows, held_out] : {std::pair(999, 0.0), {1000, 0.1}, {1'000'000, 0.01}}) {
    JobRequest request;
    EXPECT_DOUBLE_EQ(Choose("mlp:8", rows, request).validation, held_out) << rows;
    EXPECT_DOUBLE_EQ(request.optimizer.learning_rate, 0.001);
  }
}

TEST(ChosenDefaults, NetworksOnFewSamplesKeepTheirWeightsSmall) {
  const auto chosen = [](const char* model, uint64_t rows, auto&& change) {
    JobRequest request;
    change(request);
    Choose(model, rows, request);
    return request.optimizer.l2;
  };
  const auto nothing = [](JobRequest&) {};
  EXPECT_GT(chosen("mlp:8", 999, nothing), 0);
  EXPECT_EQ(chosen("mlp:8", 1000, nothing), 0);
  EXPECT_EQ(chosen("softmax", 100, nothing), 0);
  EXPECT_EQ(chosen("mlp:8", 999, [](JobRequest& request) { request.given_numbers.set(); }), 0);
  EXPECT_EQ(chosen("mlp:8", 999, [](JobRequest& request) { request.open.steps = false; }), 0);
  EXPECT_EQ(chosen("mlp:8", 999, [](JobRequest& request) { request.dropout = 0.1; }), 0);
  EXPECT_EQ(chosen("mlp:8", 999, [](JobRequest& request) { request.validation = 0.2; }), 0);
}

TEST(ChosenDefaults, StepsOrEpochsThatAreGivenAreDoneExactly) {
  JobRequest request;
  request.epochs = 3;
  request.open.steps = false;
  const JudgingPlan plan = Choose("mlp:8", 5000, request);
  EXPECT_EQ(request.epochs, 3u);
  EXPECT_EQ(plan.patience, 0u);
  EXPECT_EQ(plan.every_epochs, 0u);
  EXPECT_EQ(plan.validation, 0);
  EXPECT_EQ(request.optimizer.schedule, "constant");
}

TEST(ChosenDefaults, GiveWayToWhatIsSaid) {
  JobRequest request;
  request.optimizer = {.name = "nag", .learning_rate = 0.3, .schedule = "cosine"};
  request.batch = 50;
  request.patience = -1;
  request.validation = -1;
  request.evaluate_every = "30";
  request.open.optimizer = request.open.learning_rate = request.open.schedule = request.open.batch =
      false;
  const JudgingPlan plan = Choose("mlp:8", 5000, request);
  EXPECT_EQ(request.optimizer.name, "nag");
  EXPECT_EQ(request.optimizer.learning_rate, 0.3);
  EXPECT_EQ(request.optimizer.schedule, "cosine");
  EXPECT_EQ(request.batch, 50u);
  EXPECT_EQ(plan.every, 30u);
  EXPECT_EQ(plan.patience, 0u);
  EXPECT_EQ(plan.validation, 0);
}

TEST(ChosenDefaults, APatienceWithEpochsJudgesEachOfThem) {
  JobRequest request;
  request.open.steps = false;
  request.patience = 3;
  const JudgingPlan plan = Choose("mlp:8", 5000, request);
  EXPECT_EQ(plan.patience, 3u);
  EXPECT_EQ(plan.every_epochs, 1u);
  EXPECT_DOUBLE_EQ(plan.validation, 0.1);
}

TEST(ChosenDefaults, EvaluatingLinearModelsHoldsSamplesOutForIt) {
  JobRequest request;
  request.open.steps = false;
  request.evaluate_every = "2epochs";
  const JudgingPlan plan = Choose("softmax", 500, request);
  EXPECT_EQ(plan.every_epochs, 2u);
  EXPECT_DOUBLE_EQ(plan.validation, 0.1);
}

TEST(ChosenDefaults, IntervalsAreStepsOrEpochs) {
  EXPECT_EQ(ParseInterval("200")->steps, 200u);
  EXPECT_EQ(ParseInterval("1epoch")->epochs, 1u);
  EXPECT_EQ(ParseInterval("3epochs")->epochs, 3u);
  EXPECT_EQ(ParseInterval("3epochs")->steps, 0u);
  for (const char* wrong : {"", "0", "-1", "x", "1.5", "3s", "epoch", "99999999999999999999"}) {
    EXPECT_EQ(ParseInterval(wrong).code(), StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(ChosenDefaults, ATrainersModelIsNotEvaluated) {
  JobRequest request;
  EXPECT_EQ(JudgingOfTrainer(request)->every_epochs, 0u) << "it does 5 epochs, as ever";
  request.patience = 3;
  EXPECT_EQ(JudgingOfTrainer(request)->patience, 3u);
  request.validation = 0.1;
  EXPECT_EQ(JudgingOfTrainer(request).code(), StatusCode::kInvalidArgument);
}

TEST(HoldOut, TakesItsPartAwayBeforeAnythingIsLearned) {
  const TemporaryFolder folder;
  std::string text = "v,y\n";
  for (int i = 0; i < 200; ++i) text += std::to_string(i * i) + "," + std::to_string(i % 2) + "\n";
  DataRequest request;
  request.spec = folder.Write("t.csv", text);
  request.split = kAllTrain;
  request.hold_out = [](const DataShape& train) -> Result<double> {
    EXPECT_EQ(train.rows, 200u);
    return 0.1;
  };
  const auto data = PrepareTrainingData(request);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  ASSERT_EQ(data->train->shape().rows, 180u);
  ASSERT_EQ(data->validation->shape().rows, 20u);
  const TableColumn& column = data->table->columns[0];
  double sum = 0;  // Sum of standardised values: 0 if the mean is over these alone.
  std::vector<int> values;
  for (const auto* source : {&data->train, &data->validation}) {
    const Dataset part = (*source)->Range(0, (*source)->shape().rows).value();
    for (const float value : part.dense) {
      if (source == &data->train) sum += value;
      values.push_back(static_cast<int>(std::lround(value * column.deviation + column.mean)));
    }
  }
  EXPECT_NEAR(sum, 0, 1e-3);
  std::vector<int> wanted;
  for (int i = 0; i < 200; ++i) wanted.push_back(i * i);
  EXPECT_THAT(values, ::testing::UnorderedElementsAreArray(wanted));
}

}  // namespace
}  // namespace motley
