// SPDX-License-Identifier: Apache-2.0
// Whole jobs with leases, under a scheduler that makes random decisions.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "runtime/coordinator/server_job.h"
#include "runtime/observer_fan.h"
#include "sim/checkers/placement_checker.h"
#include "sim/checkers/step_checker.h"
#include "sim/checkers/tiling_checker.h"
#include "tests/runtime/job_world.h"
#include "tests/runtime/lease_script.h"

namespace motley {
namespace {

JobOptions Leasing(uint32_t count) {
  JobOptions options = JobWorld::Options(count, "adaptive");
  options.tolerate = 1;
  return options;
}

// A JobWorld whose server runs a LeaseScript, with checks of everything that could go wrong.
class LeaseWorld : public JobWorld {
 public:
  explicit LeaseWorld(uint64_t seed, uint32_t count = 4)
      : JobWorld(Leasing(count)),
        steps_(violations, true),
        placement_(violations, count),
        tiling_(violations, count) {
    fan_.Tell({&steps_, &placement_, &tiling_, &watcher});
    const auto partitions = PartitionCount(data.rows(), count).value();
    const BatchSchedule schedule(options.seed, PartitionSizes(data.rows(), partitions),
                                 options.batch);
    auto model = ServerModel::Create(*server_device, *server_transport, options, source);
    EXPECT_TRUE(model.ok()) << model.status().ToString();
    auto script = std::make_unique<LeaseScript>(count, partitions, options.steps, seed, tale);
    server = std::make_unique<ServerJob>(
        Env{loop, *server_transport, *server_device}, options, source, &fan_,
        ServerJob::Parts{schedule,
                         std::move(model).value(),
                         Validator::Create(loop, *server_device, options).value(),
                         std::move(script),
                         {}});
    server->Start([this](JobResult end) { result = std::move(end); });
    StartWorkers();
  }

  void ExpectExact() {
    ExpectSerial(1e-4);
    for (const std::string& violation : violations.list()) ADD_FAILURE() << violation;
  }

  LeaseScript::Tale tale;
  Violations violations;

 private:
  StepChecker steps_;
  PlacementChecker placement_;
  TilingChecker tiling_;
  ObserverFan fan_;
};

TEST(LeaseJob, WhateverIsLeasedAndAskedBackTheGradientIsExact) {
  LeaseScript::Tale all;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    LeaseWorld world(seed);
    world.ExpectExact();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    EXPECT_GE(world.tale.vectors, 12);
    all.revoked += world.tale.revoked;
    all.released += world.tale.released;
    all.restarts += world.tale.restarts;
    all.fenced += world.tale.fenced;
  }
  EXPECT_GT(all.revoked, 0);
  EXPECT_GT(all.released, 0);
  EXPECT_GT(all.restarts, 0);
  EXPECT_GT(all.fenced, 0);
}

TEST(LeaseJob, AVectorThatIsNotANumberIsRefusedAndTheSumStaysClean) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    LeaseWorld world(seed);
    world.workers[2]->node->SetAnswerFilter(
        [done = false](StepId step, std::span<float> vector) mutable {
          if (step < 4 || std::exchange(done, true)) return;
          vector[3] = std::numeric_limits<float>::quiet_NaN();
        });
    world.ExpectExact();
    EXPECT_EQ(world.tale.rejected, 1) << "seed " << seed;
  }
}

TEST(LeaseJob, WorkersThatDieLeaveTheirLeasesToOthers) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    LeaseWorld world(seed);
    world.watcher.on_step = [&](StepId step) {
      if (step == 3 || step == 6) world.Kill(*world.workers[step / 3]);
    };
    world.ExpectExact();
    EXPECT_EQ(world.watcher.lost.size(), 2u);
  }
}

TEST(LeaseJob, AWorkerThatStallsIsFencedAndWelcomeWhenItIsBack) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    LeaseWorld world(seed);
    world.watcher.on_step = [&](StepId step) {
      if (step != 2 && step != 5) return;
      world.workers[1]->device->SetSpeed(step == 2 ? 1e-3 : 1);
    };
    world.ExpectExact();
    EXPECT_TRUE(world.watcher.lost.empty());
    EXPECT_GE(world.tale.fenced, 1);
  }
}

// The server itself detects a partition that is leased twice.
TEST(LeaseJob, ASchedulerThatLeasesTwiceIsFoundOut) {
  class Careless final : public Scheduler {
   public:
    void OnEvent(const Event& event, Time, std::vector<Command>& out) override {
      if (!std::holds_alternative<WorkerFree>(event) || ++free_ < 2) return;
      out.emplace_back(OpenLeases{0, 0});
      for (const WorkerId w : {0u, 1u}) {
        out.emplace_back(PlacePartitions{w, {7}});
        out.emplace_back(ExtendLease{w, 0, {7}});
      }
    }
    Time Deadline() const override { return kNever; }
    SchedulerStats Stats() const override { return {}; }

   private:
    int free_ = 0;
  };
  JobWorld world(Leasing(2));
  const auto partitions = PartitionCount(world.data.rows(), 2).value();
  const BatchSchedule schedule(7, PartitionSizes(world.data.rows(), partitions), 100);
  auto model = ServerModel::Create(*world.server_device, *world.server_transport, world.options,
                                   world.source);
  world.server = std::make_unique<ServerJob>(
      Env{world.loop, *world.server_transport, *world.server_device}, world.options, world.source,
      nullptr,
      ServerJob::Parts{schedule,
                       std::move(model).value(),
                       Validator::Create(world.loop, *world.server_device, world.options).value(),
                       std::make_unique<Careless>(),
                       {}});
  world.server->Start([&](JobResult end) { world.result = std::move(end); });
  world.StartWorkers();
  const JobResult& end = world.Run();
  EXPECT_EQ(end.status.code(), StatusCode::kInternal);
  EXPECT_NE(end.status.ToString().find("partition 7"), std::string::npos) << end.status.ToString();
}

}  // namespace
}  // namespace motley
