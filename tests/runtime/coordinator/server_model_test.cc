// SPDX-License-Identifier: Apache-2.0
// Tests snapshots of the server's model, and what an update that fails leaves.
#include "runtime/coordinator/server_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/memory_need.h"
#include "runtime/saving/saved_job.h"
#include "sim/world/sim_disk.h"
#include "sim/world/sim_store.h"
#include "tests/runtime/job_world.h"
#include "tests/runtime/odd_device.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

struct Bench {
  // `memory_bytes` is the memory of the server's machine; 0 if unknown.
  explicit Bench(const OptimizerOptions& optimizer, uint64_t memory_bytes = 0)
      : Bench(Options(optimizer), memory_bytes) {}
  explicit Bench(const JobOptions& options, uint64_t memory_bytes = 0)
      : world(options), device(*world.server_device) {
    device.SetMemory(memory_bytes);
    model =
        ServerModel::Create(device, *world.server_transport, world.options, world.source).value();
  }
  static JobOptions Options(const OptimizerOptions& optimizer) {
    JobOptions options = JobWorld::Options(2, "none");
    options.optimizer = optimizer;
    options.audit_fraction = 0;
    return options;
  }

  Status Step(StepId step, float gradient) {
    const auto sum = model->TakeSum().value();
    std::fill(sum->values().begin(), sum->values().end(), gradient);
    return Commit(step, sum);
  }
  Status Commit(StepId step, std::shared_ptr<UpdateSum> sum) {
    std::optional<Status> done;
    model->Commit(step, {std::move(sum), nullptr}, {.weight = 100}, nullptr,
                  [&](Status status) { done = std::move(status); });
    EXPECT_TRUE(world.RunUntil([&] { return done.has_value() && !model->busy(); }));
    return done.value_or(Status::Internal("nothing came of it"));
  }
  Result<ModelSnapshot> Take() {
    std::optional<Result<ModelSnapshot>> taken;
    model->TakeSnapshot([&](Result<ModelSnapshot> snapshot) { taken = std::move(snapshot); });
    EXPECT_TRUE(world.RunUntil([&] { return taken.has_value() && !model->busy(); }));
    return *taken;
  }

  JobWorld world;
  OddDevice device;
  std::unique_ptr<ServerModel> model;
};

OptimizerOptions Momentum(double rate) {
  OptimizerOptions optimizer;
  optimizer.name = "momentum";
  optimizer.learning_rate = rate;
  return optimizer;
}

TEST(TakeSnapshot, StaysAsItIsWhileTrainingGoesOn) {
  Bench bench(Momentum(0.1));
  ASSERT_TRUE(bench.Step(0, 100).ok());
  const ModelSnapshot one = bench.Take().value();
  const std::vector<float> parameters = *one.parameters;
  const std::vector<float> state = *one.optimizer_state;
  EXPECT_EQ(one.optimizer_steps, 1U);
  EXPECT_EQ(state, std::vector<float>(parameters.size(), 1)) << "the mean over 100 samples";
  for (StepId step = 1; step < 5; ++step) ASSERT_TRUE(bench.Step(step, 50).ok());
  const ModelSnapshot two = bench.Take().value();
  EXPECT_EQ(*one.parameters, parameters);
  EXPECT_EQ(*one.optimizer_state, state);
  EXPECT_EQ(two.optimizer_steps, 5U);
  EXPECT_NE(*two.optimizer_state, state);
}

// Each shard has a part of each array of the state.
TEST(TakeSnapshot, ServesAnyNumberOfShards) {
  JobOptions options = Bench::Options(Momentum(0.01));
  options.optimizer.name = "adam";
  const auto steps = [](Bench& bench, StepId from) {
    for (StepId step = from; step < from + 3; ++step) {
      const auto sum = bench.model->TakeSum().value();
      for (size_t i = 0; i < sum->values().size(); ++i) {
        sum->values()[i] = static_cast<float>(i % 7) - static_cast<float>(step);
      }
      ASSERT_TRUE(bench.Commit(step, sum).ok());
    }
  };
  Bench whole(options);
  steps(whole, 0);
  for (const uint32_t shards : {2, 3, 16}) {
    SCOPED_TRACE(shards);
    options.resume = nullptr;
    options.shards = shards;
    Bench cut(options);
    EXPECT_EQ(cut.model->shards().size(), shards);
    steps(cut, 0);
    const ModelSnapshot snapshot = cut.Take().value();
    EXPECT_EQ(*snapshot.parameters, *whole.Take()->parameters);
    EXPECT_EQ(*snapshot.optimizer_state, *whole.Take()->optimizer_state);

    auto saved = std::make_shared<SavedJob>();
    saved->step = 3;
    saved->parameters = snapshot.parameters;
    saved->optimizer_steps = snapshot.optimizer_steps;
    saved->optimizer_state = snapshot.optimizer_state;
    options.resume = saved;
    options.shards = shards + 1;
    Bench resumed(options);
    steps(resumed, 3);
    steps(cut, 3);
    EXPECT_EQ(*resumed.Take()->parameters, *cut.Take()->parameters);
    EXPECT_EQ(*resumed.Take()->optimizer_state, *cut.Take()->optimizer_state);
  }
}

TEST(TakeSnapshot, UsesTheCopyAgainThatNobodyHolds) {
  Bench bench(Momentum(0.1));
  const std::vector<float>* first = bench.Take()->optimizer_state.get();
  EXPECT_EQ(bench.Take()->optimizer_state.get(), first);
  const ModelSnapshot held = bench.Take().value();
  EXPECT_NE(bench.Take()->optimizer_state.get(), held.optimizer_state.get());
}

TEST(TakeSnapshot, IsRefusedOnceAnUpdateHasFailedHalfDone) {
  Bench bench(Momentum(1e30));
  EXPECT_TRUE(bench.Take().ok());
  const std::vector<float> before = *bench.model->parameters();
  EXPECT_EQ(bench.Step(0, 1e12F).code(), StatusCode::kDataError);
  EXPECT_TRUE(bench.model->spoiled());
  EXPECT_EQ(*bench.model->parameters(), before);
  EXPECT_EQ(bench.Take().code(), StatusCode::kDataError);
}

constexpr size_t kBytes = 32 * sizeof(float);  // The size of a vector.

TEST(Versions, AreMadeForSlowReadersAsLongAsMemoryLasts) {
  const JobOptions options = Bench::Options(Momentum(0.1));
  const uint64_t counted = ServerVectors(options);
  Bench bench(Momentum(0.1), kBytes * (counted + 4));
  const uint64_t most = MostVersions(options, 32, kBytes * (counted + 4));
  EXPECT_EQ(most, MostVersions(options, 32, kBytes * counted) + 2);
  std::vector<ParameterCopy> held;  // Versions of readers that never finish.
  for (StepId step = 0; step < most - 1; ++step) {
    held.push_back(bench.model->parameters());
    ASSERT_TRUE(bench.Step(step, 1).ok()) << step;
  }
  held.push_back(bench.model->parameters());
  const Status full = bench.Step(most - 1, 1);
  EXPECT_EQ(full.code(), StatusCode::kResource) << full.ToString();
  EXPECT_FALSE(bench.model->spoiled());
  int asked = 0;
  bench.model->versions().SetCrowded([&] {
    ++asked;
    held.erase(held.begin());
    return true;
  });
  EXPECT_TRUE(bench.Step(most - 1, 1).ok()) << "somebody let go";
  EXPECT_EQ(asked, 1);
}

TEST(Versions, ThatNobodyReadsAnyMoreAreGivenBackAfterAWhile) {
  Bench bench(Momentum(0.1));
  std::vector<std::weak_ptr<const std::vector<float>>> all;
  std::vector<ParameterCopy> held;
  StepId step = 0;
  for (; step < 6; ++step) {
    held.push_back(bench.model->parameters());
    all.push_back(held.back());
    ASSERT_TRUE(bench.Step(step, 1).ok());
  }
  held.clear();
  const auto left = [&] {
    return std::count_if(all.begin(), all.end(), [](const auto& copy) { return !copy.expired(); });
  };
  ASSERT_TRUE(bench.Step(step++, 1).ok());
  EXPECT_EQ(left(), 6) << "kept for the next slow worker";
  for (const StepId end = step + 200; step < end; ++step) ASSERT_TRUE(bench.Step(step, 1).ok());
  EXPECT_LE(left(), 3);
}

// Runs a job that diverges at some step, with checkpoints in `store`.
JobResult Diverge(uint64_t checkpoint_every, SimStore& store,
                  JobOptions::Holders holders = JobOptions::Holders::kServer,
                  const OptimizerOptions& optimizer = Momentum(1)) {
  JobOptions options = JobWorld::Options(2, "none");
  options.holders = holders;
  options.optimizer = optimizer;
  options.optimizer.l2 = 1e25;
  options.checkpoint.every = checkpoint_every;
  options.checkpoint.code = {2, 1, ErasureTechnique::kVandermonde};
  options.checkpoint.run = 5;
  JobWorld world(options);
  const auto disk = MakeSimDisk(world.loop, store, {.per_piece = std::chrono::microseconds(1)});
  world.server =
      ServerNode::Create({world.loop, *world.server_transport, *world.server_device, disk.get()},
                         options, world.source, &world.watcher)
          .value();
  world.server->Start([&world](JobResult end) { world.result = std::move(end); });
  world.StartWorkers();
  JobResult result = world.Run();
  EXPECT_TRUE(world.server->diverged());
  return result;
}

// The optimizer is then ahead of the parameters, so a run that resumed from both would go wrong.
TEST(Divergence, LeavesTheLastGoodCheckpointAndNamesIt) {
  for (const auto holders : {JobOptions::Holders::kServer, JobOptions::Holders::kWorkers}) {
    SCOPED_TRACE(static_cast<int>(holders));
    SimStore store(1);
    const JobResult result = Diverge(1, store, holders);
    ASSERT_EQ(result.status.code(), StatusCode::kDataError) << result.status.ToString();
    ASSERT_GT(result.checkpoint_step, 0U);
    EXPECT_THAT(result.status.ToString(),
                HasSubstr("checkpoint of step " + std::to_string(result.checkpoint_step)));
    const auto saved = LoadSavedJob(store);
    ASSERT_TRUE(saved.ok()) << saved.status().ToString();
    EXPECT_EQ(saved->step, result.checkpoint_step);
    EXPECT_EQ(saved->optimizer_steps, saved->step) << "parameters and state of one version";
  }
}

// Without a state followers read the new values, and there are none then.
TEST(Divergence, EndsJobsWhoseFollowersRead) {
  SimStore store(1);
  const JobResult result = Diverge(1000, store, JobOptions::Holders::kWorkers, {.name = "sgd"});
  EXPECT_EQ(result.status.code(), StatusCode::kDataError) << result.status.ToString();
}

TEST(Divergence, WithoutACheckpointLeavesNone) {
  SimStore store(1);
  const JobResult result = Diverge(1000, store);
  EXPECT_EQ(result.status.code(), StatusCode::kDataError);
  EXPECT_EQ(result.checkpoint_step, 0U);
  EXPECT_THAT(result.status.ToString(), HasSubstr("no checkpoint was written before"));
  EXPECT_EQ(LoadSavedJob(store).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace motley
