// SPDX-License-Identifier: Apache-2.0
// motley_checkpoint_*: whole, damaged and lost folders, exports, invalid arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "nlohmann/json.hpp"
#include "tests/api/api_world.h"
#include "tests/api/point_trainer.h"
#include "training/model_files/safetensors.h"

namespace motley {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Checkpoints of steps 6 and 12 of a small job, which are removed after the test.
class CheckpointCalls : public ::testing::Test {
 protected:
  CheckpointCalls() {
    motley_job_options options = SmallJob();
    options.checkpoint = folder_.c_str();
    options.checkpoint_every = 6;
    options.checkpoint_code = "3+2";
    TestJob job(options);
    job.RunFine();
    parameters_ = job.Parameters();
  }
  ~CheckpointCalls() override { std::filesystem::remove_all(folder_); }

  // The JSON of a call; null if there is none.
  template <typename Call>
  json Ask(motley_status expected, const Call& call) {
    char* text = nullptr;
    EXPECT_EQ(call(&text), expected) << motley_last_error();
    const std::unique_ptr<char, void (*)(char*)> owned(text, motley_string_destroy);
    return text == nullptr ? json() : json::parse(text);
  }
  json Verify(motley_status expected) {
    return Ask(expected, [this](char** text) {
      return motley_checkpoint_verify(folder_.c_str(), MOTLEY_NEWEST, text);
    });
  }
  std::filesystem::path Shard(int shard) const {
    return std::filesystem::path(folder_) / ("node-0" + std::to_string(shard)) /
           "step-000000000012.shard";
  }
  void Damage(int shard) const {
    std::fstream file(Shard(shard), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(600);  // After the header.
    file.put('\x7f');
  }

  const std::string folder_ = TemporaryPath("calls");
  std::vector<float> parameters_;
};

TEST_F(CheckpointCalls, ListNamesStepsAndShards) {
  const json list =
      Ask(MOTLEY_OK, [this](char** text) { return motley_checkpoint_list(folder_.c_str(), text); });
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["step"], 12);
  EXPECT_EQ(list[1]["step"], 6);
  EXPECT_EQ(list[0]["shards"].size(), 5U);
  EXPECT_EQ(list[0]["parameters"], parameters_.size());
  EXPECT_TRUE(list[0]["restorable"].get<bool>());
}

TEST_F(CheckpointCalls, DamageIsNamedAndRestored) {
  EXPECT_TRUE(Verify(MOTLEY_OK)["healthy"].get<bool>());
  Damage(1);
  std::filesystem::remove(Shard(4));
  const json report = Verify(MOTLEY_DATA_ERROR);
  EXPECT_FALSE(report["healthy"].get<bool>());
  EXPECT_TRUE(report["restorable"].get<bool>());
  EXPECT_EQ(report["shards"][1]["state"], "damaged");
  EXPECT_EQ(report["shards"][4]["state"], "lost");
  const json after = Ask(MOTLEY_OK, [this](char** text) {
    return motley_checkpoint_restore(folder_.c_str(), MOTLEY_NEWEST, text);
  });
  EXPECT_TRUE(after["healthy"].get<bool>());
  EXPECT_TRUE(Verify(MOTLEY_OK)["healthy"].get<bool>());
}

TEST_F(CheckpointCalls, WhatIsLostForGoodIsNamedAndLeftAsItIs) {
  for (const int shard : {0, 1, 2}) Damage(shard);
  EXPECT_FALSE(Verify(MOTLEY_DATA_ERROR)["restorable"].get<bool>());
  const json none = Ask(MOTLEY_DATA_ERROR, [this](char** text) {
    return motley_checkpoint_restore(folder_.c_str(), 12, text);
  });
  EXPECT_TRUE(none.is_null());
  EXPECT_THAT(motley_last_error(), HasSubstr("node-02"));
}

TEST_F(CheckpointCalls, ExportIsTheModelThatWasTrained) {
  const std::string path = TemporaryPath("exported.safetensors");
  ASSERT_EQ(motley_checkpoint_export(folder_.c_str(), 12, path.c_str(), nullptr), MOTLEY_OK)
      << motley_last_error();
  const auto model = LoadModel(path);
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->parameters, parameters_);
  EXPECT_EQ(motley_checkpoint_export(folder_.c_str(), 7, path.c_str(), nullptr), MOTLEY_NOT_FOUND);
  const std::string torch = TemporaryPath("torch.safetensors");
  ASSERT_EQ(motley_checkpoint_export(path.c_str(), MOTLEY_NEWEST, torch.c_str(), "torch"),
            MOTLEY_OK)
      << motley_last_error();
  const auto again = LoadModel(torch);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_THAT(again->parameters, testing::Pointwise(testing::FloatNear(1e-5f), parameters_));
  EXPECT_EQ(motley_checkpoint_export(path.c_str(), 3, torch.c_str(), "torch"),
            MOTLEY_INVALID_ARGUMENT);
  std::filesystem::remove(path);
  std::filesystem::remove(torch);
}

TEST_F(CheckpointCalls, NullAndMissingFoldersAreErrors) {
  char* text = nullptr;
  const char* folder = folder_.c_str();
  for (const motley_status status :
       {motley_checkpoint_list(nullptr, &text), motley_checkpoint_list(folder, nullptr),
        motley_checkpoint_verify(nullptr, 12, &text), motley_checkpoint_verify(folder, 12, nullptr),
        motley_checkpoint_restore(nullptr, 12, &text),
        motley_checkpoint_restore(folder, 12, nullptr),
        motley_checkpoint_export(nullptr, 12, "x", nullptr),
        motley_checkpoint_export(folder, 12, nullptr, nullptr)}) {
    EXPECT_EQ(status, MOTLEY_INVALID_ARGUMENT);
    EXPECT_THAT(motley_last_error(), HasSubstr("is NULL"));
    EXPECT_EQ(text, nullptr);
  }
  const std::string nowhere = TemporaryPath("nowhere");
  EXPECT_EQ(motley_checkpoint_list(nowhere.c_str(), &text), MOTLEY_NOT_FOUND);
  EXPECT_EQ(motley_checkpoint_verify(folder, 7, &text), MOTLEY_NOT_FOUND);
  EXPECT_EQ(text, nullptr);
  motley_string_destroy(nullptr);
}

TEST(CheckpointOfATrainer, IsResumedByItsLikeAndExportedAsAVector) {
  const std::string folder = TemporaryPath("own");
  motley_job_options options = PointJob();
  options.steps = 10;
  options.checkpoint = folder.c_str();
  TestJob first(options);
  ASSERT_EQ(first.SetTrainer(PointTrainer()), MOTLEY_OK);
  first.RunFine();

  options.checkpoint = nullptr;
  options.resume = folder.c_str();
  options.steps = 30;
  TestJob other(options);
  motley_trainer longer = PointTrainer();
  longer.parameter_count = POINT_DIMENSIONS + 1;
  ASSERT_EQ(other.SetTrainer(longer), MOTLEY_OK);
  EXPECT_EQ(other.Run(), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("3 parameters"));

  motley_job_options model = SmallJob();
  model.resume = folder.c_str();
  model.batch = 0;
  model.steps = 30;
  EXPECT_EQ(TestJob(model).Run(), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("the checkpoint has 3 parameters"));

  TestJob again(options);
  ASSERT_EQ(again.SetTrainer(PointTrainer()), MOTLEY_OK);
  again.RunFine();
  EXPECT_EQ(again.Metrics().steps, 30U);

  const std::string path = TemporaryPath("own.safetensors");
  ASSERT_EQ(motley_checkpoint_export(folder.c_str(), MOTLEY_NEWEST, path.c_str(), nullptr),
            MOTLEY_OK)
      << motley_last_error();
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::vector<float> vector = first.Parameters();
  ASSERT_GT(bytes.size(), vector.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data() + bytes.size() - vector.size() * sizeof(float), vector.data(),
                        vector.size() * sizeof(float)),
            0);
  std::filesystem::remove(path);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace motley
