// SPDX-License-Identifier: Apache-2.0
// Accuracies on real data sets, with a minimal loop over model, optimizer and schedule.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "data/readers.h"
#include "test_paths.h"
#include "tests/training/test_data.h"
#include "training/models/evaluate.h"
#include "training/optimizers/optimizer.h"
#include "training/trainers/batch_schedule.h"

namespace motley {
namespace {

std::string SharedData(const std::string& name) {
  const char* folder = std::getenv("MOTLEY_SHARED_DATA");
  return std::string(folder != nullptr ? folder : MOTLEY_SOURCE_DIR "/../shared/data") + "/" + name;
}

struct Recipe {
  std::string model;
  OptimizerOptions optimizer;
  uint32_t batch;
  size_t epochs;
  uint64_t seed = 7;  // Seed of the order of the samples.
};

double TestAccuracy(const Dataset& train, const Dataset& test, const Recipe& recipe) {
  TestRig rig;
  const auto model = MakeModel({recipe.model, train.features, train.classes});
  std::vector<float> parameters(model->parameter_count());
  std::vector<float> gradient(model->parameter_count());
  model->Initialize(7, parameters);
  const auto optimizer = *Optimizer::Create(recipe.optimizer, parameters.size());
  const BatchSchedule schedule(recipe.seed, {static_cast<uint32_t>(train.rows())}, recipe.batch);
  for (StepId step = 0; step < recipe.epochs * schedule.steps_per_epoch(); ++step) {
    double loss = 0;
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    const Dataset batch = Select(train, schedule.Rows(step));
    EXPECT_TRUE(model->AddGradient(*rig.device, parameters, batch, 1, gradient, loss).ok());
    EXPECT_TRUE(optimizer
                    ->Apply(*rig.device, gradient, parameters,
                            {.weight = static_cast<double>(batch.rows())})
                    .ok());
  }
  const auto evaluation = Evaluate(*model, *rig.device, parameters, test);
  EXPECT_TRUE(evaluation.ok()) << evaluation.status().ToString();
  testing::Test::RecordProperty("accuracy", std::to_string(*evaluation->accuracy));
  return *evaluation->accuracy;
}

class Mnist : public testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = SharedData("mnist");
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "MNIST is not at " << folder;
    auto data = ReadTrainingData(folder, {});
    ASSERT_TRUE(data.ok()) << data.status().ToString();
    ASSERT_EQ(data->train.rows(), 10000u);
    ASSERT_EQ(data->train.features, 784u);
    train_ = Select(data->train, Iota(0, 8000));
    test_ = Select(data->train, Iota(8000, 10000));
  }
  Dataset train_;
  Dataset test_;
};

TEST_F(Mnist, SoftmaxReaches88Percent) {
  const OptimizerOptions sgd{.learning_rate = 0.1};
  EXPECT_GE(TestAccuracy(train_, test_, {"softmax", sgd, 128, 5}), 0.88);
}

TEST_F(Mnist, MlpReaches94Percent) {
  const OptimizerOptions momentum{.name = "momentum", .learning_rate = 0.1};
  EXPECT_GE(TestAccuracy(train_, test_, {"mlp:128", momentum, 64, 4}), 0.94);
}

TEST(A9a, LogisticReaches84AndAHalfPercent) {
  const std::string path = SharedData("a9a/a9a");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "a9a is not at " << path;
  const auto data = ReadTrainingData(path + ":test=" + path + ".t", {});
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->train.rows(), 32561u);
  EXPECT_EQ(data->test->rows(), 16281u);
  EXPECT_EQ(data->train.features, 123u);
  const Recipe recipe{"logistic", {.name = "momentum", .learning_rate = 0.05}, 256, 5};
  EXPECT_GE(TestAccuracy(data->train, *data->test, recipe), 0.845);
}

// The data in examples/data must reach the accuracy that the demo promises.
TEST(Digits, SoftmaxReaches95PercentOnUnscaledPixels) {
  const auto data = ReadTrainingData(MOTLEY_SOURCE_DIR "/examples/data/digits.csv.gz", {});
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->train.rows(), 1797u);
  EXPECT_EQ(data->class_labels.size(), 10u);
  const auto split = SplitDataset(data->train, 0.8, 7);
  // The mean over five orders. Of 600 random orders 14 % end below 0.95; the mean of all is 0.959.
  const auto accuracy = [&](double rate) {
    double sum = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const Recipe recipe{"softmax", {.learning_rate = rate}, 256, 20, seed};
      sum += TestAccuracy(split->train, split->test, recipe);
    }
    return sum / 5;
  };
  EXPECT_GE(accuracy(0.03), 0.95);
  // The default rate is too large for values up to 16, but training must not break down.
  EXPECT_GE(accuracy(0.1), 0.90);
}

}  // namespace
}  // namespace motley
