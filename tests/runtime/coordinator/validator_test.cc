// SPDX-License-Identifier: Apache-2.0
// Jobs that judge their progress: when they end and what they leave. Neither depends on the speed
// of evaluations, on the workers, or on a resumption.
#include "runtime/coordinator/validator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/saving/saved_job.h"
#include "sim/world/sim_disk.h"
#include "sim/world/sim_store.h"
#include "tests/runtime/job_world.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kEnough = 5000;  // Steps; no job gets there.

// A job that soon fits its samples better than the validation samples.
JobOptions Judged(uint32_t workers, const std::string& code) {
  JobOptions options = JobWorld::Options(workers, code);
  options.shares = Shares::kEqual;
  options.audit_fraction = 0;
  options.optimizer = {.name = "adam", .learning_rate = 0.05};
  options.model = {"mlp:16", 7, 4};
  options.steps = kEnough;
  options.validation.every = 6;
  options.validation.patience = 4;
  options.validation.samples = std::make_shared<MemorySource>(MakeSamples(7, 4, false, 150, 12));
  return options;
}

double LossOf(const JobOptions& options, std::span<const float> parameters) {
  TestRig rig;
  return Evaluate(*MakeModel(options.model), *rig.device, parameters, *options.validation.samples)
      ->loss;
}

TEST(JudgedJob, EndsEarlyAndLeavesItsBestVersion) {
  JobWorld world(Judged(3, "none"));
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_LT(result.steps, kEnough);
  EXPECT_THAT(result.stopped_early, HasSubstr("4 judgements"));
  EXPECT_TRUE(result.validation.kept_best);
  EXPECT_EQ(result.validation.best_version % 6, 0u);
  EXPECT_LT(result.validation.best_version, result.steps);
  EXPECT_DOUBLE_EQ(LossOf(world.options, *result.parameters), result.validation.best_loss);
}

TEST(JudgedJob, DoesAllItsStepsWithoutPatience) {
  JobOptions options = Judged(2, "none");
  options.steps = 40;
  options.validation.patience = 0;
  JobWorld world(options);
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  EXPECT_EQ(result.steps, 40u);
  EXPECT_EQ(result.stopped_early, "");
  EXPECT_FALSE(result.validation.kept_best);
  EXPECT_EQ(result.validation.evaluations, 6u);
  EXPECT_EQ(world.watcher.judged.size(), 6u);
}

TEST(JudgedJob, EvaluatesItsLastVersionToo) {
  JobOptions options = Judged(2, "none");
  options.steps = 8;  // The loss still falls.
  JobWorld world(options);
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  EXPECT_EQ(result.steps, 8u);
  EXPECT_EQ(result.validation.best_version, 8u);
  EXPECT_DOUBLE_EQ(LossOf(options, *result.parameters), result.validation.best_loss);
}

// Validation samples that can be read only a limited number of times.
class LimitedSource final : public DataSource {
 public:
  LimitedSource(std::shared_ptr<const DataSource> samples, int reads)
      : samples_(std::move(samples)), reads_(reads) {}
  DataShape shape() const override { return samples_->shape(); }
  Result<Dataset> Range(size_t begin, size_t end) const override {
    if (reads_-- <= 0) return Status::Resource("the disk is gone");
    return samples_->Range(begin, end);
  }
  Result<Dataset> Gather(std::span<const uint32_t> rows) const override {
    return samples_->Gather(rows);
  }

 private:
  const std::shared_ptr<const DataSource> samples_;
  mutable std::atomic<int> reads_;
};

// Step 6 and step 8, the last, are judged. Each judgement reads the 150 samples in one block.
TEST(JudgedJob, SaysThatItsLastVersionCouldNotBeJudged) {
  for (const int reads : {1, 2}) {
    JobOptions options = Judged(2, "none");
    options.steps = 8;
    options.validation.samples = std::make_shared<LimitedSource>(options.validation.samples, reads);
    JobWorld world(options);
    world.StartServer();
    world.StartWorkers();
    const JobResult& result = world.Run();
    EXPECT_TRUE(result.status.ok()) << result.status.ToString();
    EXPECT_EQ(result.validation.best_version, reads == 1 ? 6u : 8u);
    const auto not_judged = Only<notice::LastNotJudged>(world.watcher.notices);
    ASSERT_EQ(not_judged.size(), reads == 1 ? 1u : 0u);
    if (reads == 1) {
      EXPECT_THAT(not_judged[0].why.ToString(), testing::HasSubstr("the disk is gone"));
      EXPECT_EQ(not_judged[0].best, 6u);
    }
  }
}

TEST(JudgedJob, TakesTheSameCourseHoweverLongEvaluationsTake) {
  std::optional<JobResult> first;
  for (const double speed : {0.0, 0.3, 40.0}) {  // Speeds of evaluations; 0: at once.
    JobWorld world(Judged(2, "none"));
    const auto inner = MakeInlineDevice(world.loop).value();
    const auto slow = MakePacedDevice(world.loop, *inner,
                                      {std::chrono::microseconds(100), speed > 0 ? speed : 1});
    world.evaluation_device = speed > 0 ? slow.get() : inner.get();
    world.StartServer();
    world.StartWorkers();
    const JobResult result = world.Run();
    if (!first) first = result;
    EXPECT_EQ(result.steps, first->steps) << speed;
    EXPECT_EQ(*result.parameters, *first->parameters) << speed;
    EXPECT_EQ(result.validation.best_version, first->validation.best_version) << speed;
    EXPECT_EQ(result.validation.waited_seconds > 0, speed == 0.3) << speed;
  }
}

TEST(JudgedJob, TakesTheSameCourseToRoundingWithOtherWorkersAndCodes) {
  JobWorld one(Judged(1, "none")), many(Judged(4, "repetition"));
  for (JobWorld* world : {&one, &many}) {
    world->StartServer();
    world->StartWorkers();
  }
  const JobResult &a = one.Run(), &b = many.Run();
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.validation.best_version, b.validation.best_version);
  EXPECT_NEAR(a.validation.best_loss, b.validation.best_loss, 1e-4);
}

// Only class 1 has weight, and some small batches do not contain it.
TEST(JudgedJob, DoesNotJudgeStepsThatWeighNothing) {
  JobOptions options = Judged(2, "none");
  options.validation.samples = nullptr;
  options.validation.every = 1;
  options.validation.patience = 0;
  options.model.class_weights = {0, 1, 0, 0};
  options.batch = 2;
  options.steps = 30;
  JobWorld world(options);
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.steps, 30u);
  EXPECT_LT(world.watcher.judged.size(), 30u) << "no batch weighed nothing";
  EXPECT_GT(world.watcher.judged.size(), 0u);
  EXPECT_GT(result.validation.best_loss, 0);
}

TEST(JudgedJob, JudgesByTheStepsWhereNothingIsHeldOut) {
  JobOptions options = Judged(2, "none");
  options.validation.samples = nullptr;
  options.validation.tolerance = 0.02;
  JobWorld world(options);
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_LT(result.steps, kEnough);
  EXPECT_EQ(result.steps % 6, 0u);
  EXPECT_FALSE(result.validation.kept_best) << "the last is as good";
  ASSERT_FALSE(world.watcher.judged.empty());
  EXPECT_FALSE(world.watcher.judged[0].samples.has_value());
}

// Every step has a checkpoint, so that some precede judgements that wait, and some coincide or
// follow.
TEST(JudgedJob, IsResumedExactly) {
  JobOptions options = Judged(2, "none");
  options.optimizer.schedule = "plateau:patience=1,factor=0.3,times=2";
  options.optimizer.clip = 0.2;
  options.checkpoint = {.every = 1, .code = {2, 1}, .run = 77};
  SimStore store(1);
  JobWorld world(options);
  const auto disk = MakeSimDisk(world.loop, store, {.per_piece = Duration(1)});
  const auto inner = MakeInlineDevice(world.loop).value();
  const auto slow = MakePacedDevice(world.loop, *inner, {std::chrono::microseconds(100), 1});
  world.disk = disk.get();
  world.evaluation_device = slow.get();
  std::map<uint64_t, std::shared_ptr<const SavedJob>> saved;
  world.watcher.on_step = [&](StepId) {
    const auto newest = LoadSavedJob(store);
    if (newest.ok()) saved[newest->step] = std::make_shared<const SavedJob>(*newest);
  };
  world.StartServer();
  world.StartWorkers();
  const JobResult whole = world.Run();
  ASSERT_GT(whole.steps, 24u);
  ASSERT_GT(saved.size(), 12u);
  size_t with_best = 0;
  for (const auto& [step, job] : saved) {
    with_best += job->best != nullptr ? 1 : 0;
    JobOptions rest = options;
    rest.checkpoint = {};
    rest.resume = job;
    JobWorld again(rest);
    again.StartServer();
    again.StartWorkers();
    const JobResult& end = again.Run();
    ASSERT_TRUE(end.status.ok()) << end.status.ToString();
    EXPECT_EQ(end.steps, whole.steps) << "from " << step;
    EXPECT_EQ(end.validation.best_version, whole.validation.best_version) << "from " << step;
    EXPECT_EQ(*end.parameters, *whole.parameters) << "from " << step;
  }
  EXPECT_GT(with_best, 0u);
}

TEST(JudgedJob, LeavesTheBestVersionInItsCheckpoint) {
  JobOptions options = Judged(2, "none");
  options.checkpoint = {.every = 1000, .code = {2, 1}, .run = 77};
  SimStore store(1);
  JobWorld world(options);
  const auto disk = MakeSimDisk(world.loop, store);
  world.disk = disk.get();
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  const auto saved = LoadSavedJob(store);
  ASSERT_TRUE(saved.ok()) << saved.status().ToString();
  EXPECT_EQ(ModelOf(*saved)->parameters, *result.parameters);
  EXPECT_NE(*saved->parameters, *result.parameters) << "training goes on from the last one";
}

// The last version is evaluated between judgements. A checkpoint may be due at it, or not.
TEST(JudgedJob, LeavesWhatItsLastCheckpointHas) {
  for (const uint64_t every : {8, 1000}) {
    JobOptions options = Judged(2, "none");
    options.steps = 8;  // The loss still falls.
    options.checkpoint = {.every = every, .code = {2, 1}, .run = 77};
    SimStore store(1);
    JobWorld world(options);
    const auto disk = MakeSimDisk(world.loop, store);
    world.disk = disk.get();
    world.StartServer();
    world.StartWorkers();
    const JobResult& result = world.Run();
    EXPECT_EQ(result.validation.best_version, 8u);
    const auto saved = LoadSavedJob(store);
    ASSERT_TRUE(saved.ok()) << saved.status().ToString();
    EXPECT_EQ(ModelOf(*saved)->parameters, *result.parameters);
    const JobResult again = ResultOf(*saved);
    EXPECT_EQ(*again.parameters, *result.parameters);
    EXPECT_EQ(again.validation.best_version, 8u);
    EXPECT_DOUBLE_EQ(again.validation.best_loss, result.validation.best_loss);
    EXPECT_EQ(saved->about.validation.judge.seen, 1u) << "of step 6";
  }
}

TEST(Validator, RefusesAScheduleThatIsNone) {
  JobOptions options = Judged(1, "none");
  options.optimizer.schedule = "sometimes";
  TestRig rig;
  const auto made = Validator::Create(rig.loop, *rig.device, options);
  EXPECT_EQ(made.code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace motley
