// SPDX-License-Identifier: Apache-2.0
// Trainers that take whole rows, apply updates and evaluate versions themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/api/api_world.h"
#include "tests/api/point_trainer.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

motley_status AddWeightedPoints(void* context, const motley_weighted_work* work) {
  if (context != nullptr) ++*static_cast<std::atomic<uint64_t>*>(context);
  for (uint64_t r = 0; r < work->run_count; ++r) {
    const motley_run& run = work->runs[r];
    for (uint64_t i = run.first; i < run.first + run.count; ++i) {
      for (uint64_t axis = 0; axis < POINT_DIMENSIONS; ++axis) {
        const float away = work->parameters[axis] - PointCoordinate(work->samples[i], axis);
        for (uint32_t v = 0; v < work->vectors; ++v) {
          work->sums[v][axis] += static_cast<float>(run.weights[v]) * away;
        }
        work->losses[r] += 0.5 * away * away;
      }
      motley_weighted_progress(work, i + 1);
    }
    if (motley_weighted_cancelled(work) != 0) return MOTLEY_CANCELLED;
  }
  return MOTLEY_OK;
}

motley_trainer WeightedTrainer() {
  motley_trainer trainer MOTLEY_TRAINER_INIT;
  trainer.parameter_count = POINT_DIMENSIONS;
  trainer.accumulate_weighted = AddWeightedPoints;
  return trainer;
}

std::vector<float> Learned(const motley_job_options& options, const motley_trainer& trainer) {
  TestJob job(options);
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
  job.RunFine();
  return job.Parameters();
}

TEST(ApiWholeRows, LearnTheSame) {
  motley_job_options options = PointJob();
  options.workers = 4;
  options.steps = 3;
  for (const char* code : {"none", "heterogeneous", "adaptive", "short", "partial-coded"}) {
    SCOPED_TRACE(code);
    options.code = code;
    const std::vector<float> wanted = Learned(options, PointTrainer());
    EXPECT_THAT(Learned(options, WeightedTrainer()), Pointwise(FloatNear(2e-6f), wanted));
    motley_trainer whole = PointTrainer();
    whole.flags = MOTLEY_WHOLE_ROWS;
    EXPECT_THAT(Learned(options, whole), Pointwise(FloatNear(2e-6f), wanted));
  }
}

// A row of 200 samples would be six pieces.
TEST(ApiWholeRows, ComeInOneCall) {
  std::atomic<uint64_t> calls = 0;
  motley_trainer trainer = WeightedTrainer();
  trainer.context = &calls;
  motley_job_options options = PointJob();
  options.workers = 1;
  options.code = "none";
  options.steps = 5;
  Learned(options, trainer);
  EXPECT_EQ(calls, 5U);
}

// `accumulate` serves audits only.
TEST(ApiWholeRows, AreAuditedByTheOtherCallback) {
  motley_trainer trainer = WeightedTrainer();
  trainer.accumulate = AccumulatePoints;
  motley_job_options options = PointJob();
  options.audit = 1;
  TestJob job(options);
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
  job.RunFine();
  EXPECT_EQ(job.Report("audited_steps"), 30);
  EXPECT_THAT(motley_job_report(job.get()), HasSubstr("\"failures\": 0"));
}

// Momentum, whose velocity is the state, and the number of updates behind it.
motley_status ApplyMomentum(void*, const motley_update* update) {
  if (update->state[POINT_DIMENSIONS] != static_cast<float>(update->step)) return 1;
  if (!(update->batch_loss > 0) || update->batch_weight != 200) return 2;
  for (uint64_t i = 0; i < update->parameter_count; ++i) {
    update->state[i] = 0.9f * update->state[i] + update->gradient[i];
    update->parameters[i] -= static_cast<float>(update->learning_rate) * update->state[i];
  }
  update->state[POINT_DIMENSIONS] += 1;
  return MOTLEY_OK;
}

motley_trainer MomentumTrainer() {
  motley_trainer trainer = PointTrainer();
  trainer.apply = ApplyMomentum;
  trainer.state_count = POINT_DIMENSIONS + 1;
  return trainer;
}

TEST(ApiOwnRule, AppliesAsTheLibraryWould) {
  motley_job_options options = PointJob();
  options.learning_rate = 0.1;
  TestJob job(options);
  ASSERT_EQ(job.SetTrainer(MomentumTrainer()), MOTLEY_OK) << motley_last_error();
  job.RunFine();
  EXPECT_THAT(motley_job_report(job.get()), HasSubstr("\"optimizer\": \"own\""));
  options.optimizer = "momentum";
  EXPECT_THAT(job.Parameters(), Pointwise(FloatNear(1e-6f), Learned(options, PointTrainer())));
}

TEST(ApiOwnRule, ItsStateGoesOnFromACheckpoint) {
  const std::string folder = TemporaryPath("own-rule");
  std::filesystem::remove_all(folder);
  motley_job_options options = PointJob();
  options.shares = "equal";
  options.code = "none";
  options.learning_rate = 0.1;
  const std::vector<float> wanted = Learned(options, MomentumTrainer());
  options.checkpoint = folder.c_str();
  options.checkpoint_every = 7;
  options.steps = 14;
  Learned(options, MomentumTrainer());
  options.resume = folder.c_str();
  options.resume_step = 7;
  const std::string other = TemporaryPath("own-rule-more");
  std::filesystem::remove_all(other);
  options.checkpoint = other.c_str();
  options.steps = 30;
  EXPECT_EQ(Learned(options, MomentumTrainer()), wanted);
  options.checkpoint = nullptr;
  TestJob plain(options);
  ASSERT_EQ(plain.SetTrainer(PointTrainer()), MOTLEY_OK);
  EXPECT_NE(plain.Run(), MOTLEY_OK);
  EXPECT_THAT(motley_last_error(),
              HasSubstr("the program itself applied the updates of the checkpoint's job"));
}

TEST(ApiOwnRule, AFailureEndsTheJob) {
  motley_trainer trainer = MomentumTrainer();
  trainer.apply = [](void*, const motley_update* update) {
    return update->step == 3 ? motley_status{4711} : motley_status{MOTLEY_OK};
  };
  TestJob job(PointJob());
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK);
  EXPECT_EQ(job.Run(), MOTLEY_CALLBACK);
  EXPECT_THAT(motley_last_error(), HasSubstr("apply returned 4711"));
  EXPECT_THAT(motley_last_error(), HasSubstr("after 3 of 30 steps"));
}

TEST(ApiOwnRule, WhatDoesNotFitIsRefused) {
  motley_trainer trainer = PointTrainer();
  TestJob job(PointJob());
  trainer.flags = 2;
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("0x2"));
  trainer = PointTrainer();
  trainer.state_count = 1;
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_INVALID_ARGUMENT);
  trainer = MomentumTrainer();
  trainer.state_count = UINT64_MAX / 4;
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("a state of 4611686018427387903 floats"));
  trainer = PointTrainer();
  trainer.accumulate = nullptr;
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_INVALID_ARGUMENT);
  motley_job_options options = PointJob();
  options.reduce = "direct";
  TestJob direct(options);
  EXPECT_EQ(direct.SetTrainer(MomentumTrainer()), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`reduce` direct"));
}

// Its loss falls until version 8. Three judgements later the job ends with that version. The last
// one takes effect at version 24, which is evaluated as well.
TEST(ApiEvaluate, DecidesWhichVersionIsLeft) {
  std::vector<uint64_t> versions;
  motley_trainer trainer = PointTrainer();
  trainer.context = &versions;
  trainer.evaluate = [](void* context, uint64_t version, const float* parameters, uint64_t count,
                        double* loss) {
    static_cast<std::vector<uint64_t>*>(context)->push_back(version);
    if (count != POINT_DIMENSIONS || parameters[0] == 0) return motley_status{1};
    *loss = version <= 8 ? 20.0 - static_cast<double>(version) : 20.0;
    return motley_status{MOTLEY_OK};
  };
  motley_job_options options = PointJob();
  options.learning_rate = 0.01;
  options.evaluate_every = "4";
  options.patience = 3;
  TestJob job(options);
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK);
  std::string judged;
  job.OnEvent([&](const motley_event& event) {
    if (event.kind == MOTLEY_EVENT_JUDGED && judged.empty()) judged = event.text;
  });
  job.RunFine();
  EXPECT_THAT(versions, ElementsAre(4, 8, 12, 16, 20, 24));
  EXPECT_THAT(judged, HasSubstr("\"loss\":16.0"));
  options.steps = 8;
  options.patience = 0;
  options.evaluate_every = nullptr;
  EXPECT_THAT(Learned(options, PointTrainer()), Pointwise(FloatNear(1e-6f), job.Parameters()));
}

TEST(ApiEvaluate, AFailureEndsTheJob) {
  motley_trainer trainer = PointTrainer();
  trainer.evaluate = [](void*, uint64_t, const float*, uint64_t, double*) {
    return motley_status{4711};
  };
  motley_job_options options = PointJob();
  options.evaluate_every = "2";
  TestJob job(options);
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK);
  EXPECT_EQ(job.Run(), MOTLEY_CALLBACK);
  EXPECT_THAT(motley_last_error(), HasSubstr("evaluate returned 4711"));
}

}  // namespace
}  // namespace motley
