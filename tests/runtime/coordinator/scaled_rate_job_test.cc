// SPDX-License-Identifier: Apache-2.0
// Jobs whose rate follows the samples of an update, where steps end without some of the workers.
// Each job is held to a sequential training in double precision.
#include <gtest/gtest.h>

#include "tests/runtime/job_world.h"
#include "tests/runtime/sequence/shared_steps.h"

namespace motley {
namespace {

constexpr double kRateFor = 128;  // Samples.

class ScaledRateJob : public testing::Test {
 protected:
  // Each step ends with the answers of three of four workers.
  static JobOptions Options() {
    JobOptions options = JobWorld::Options(4, "approximate");
    options.tolerate = 0;
    options.quorum = 3;
    options.audit_fraction = 0;
    options.steps = 30;
    options.batch = 90;  // The last one of an epoch has 60 samples.
    options.optimizer.schedule = "constant:linear=128";
    return options;
  }

  void Run(const JobOptions& options) {
    JobWorld world(options);
    SharedSteps training(world, kRateFor);
    world.StartServer();
    world.StartWorkers();
    training.ExpectSameToTheEnd();
    partial_ = training.partial();
  }

  uint64_t partial_ = 0;
};

TEST_F(ScaledRateJob, TheRateIsThatOfTheSamplesThatCameInTime) {
  Run(Options());
  EXPECT_GT(partial_, 5u) << "some steps ended without a worker";
}

TEST_F(ScaledRateJob, TheSameHoldsWhereWorkersHaveTheVector) {
  JobOptions options = Options();
  options.holders = JobOptions::Holders::kWorkers;
  options.shards = options.workers;
  options.read_every_version = true;
  Run(options);
  EXPECT_GT(partial_, 5u) << "some steps ended without a worker";
}

TEST_F(ScaledRateJob, AnExactStepHasTheRateOfItsBatch) {
  JobOptions options = Options();
  options.quorum = 0;
  Run(options);
  EXPECT_EQ(partial_, 0u);
}

}  // namespace
}  // namespace motley
