// SPDX-License-Identifier: Apache-2.0
// Jobs in which workers die, stall or answer nonsense.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "coding/gradient_code.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

std::vector<std::string> CodeNames() {
  std::vector<std::string> names;
  for (const Scheme& code : CodedSchemes()) {
    // The approximate code need not wait for all answers.
    if (code.name != std::string("approximate")) names.push_back(code.name);
  }
  return names;
}

class Fault : public testing::TestWithParam<std::string> {
 protected:
  // The loss of the same job without any fault.
  static double QuietLoss(const JobOptions& options) {
    JobWorld world(options);
    world.StartServer();
    world.StartWorkers();
    const JobResult& result = world.Run();
    EXPECT_TRUE(result.status.ok()) << result.status.ToString();
    return world.Loss(*result.parameters);
  }
  static void ExpectQuietLoss(JobWorld& world) {
    const JobResult& result = world.Run();
    ASSERT_TRUE(result.status.ok()) << result.status.ToString();
    EXPECT_EQ(result.discarded_steps, 0u);
    EXPECT_EQ(result.steps, world.options.steps);
    const double quiet = QuietLoss(world.options);
    EXPECT_NEAR(world.Loss(*result.parameters), quiet, 1e-4 * quiet);
  }
  // With a code, the step may be over before the bad answer comes.
  static void ExpectRefusedOrLate(const WorkerStats& worker) {
    EXPECT_FALSE(worker.lost);
    if (GetParam() == "none") {
      EXPECT_EQ(worker.rejected, 1u);
    } else {
      EXPECT_GE(worker.rejected + worker.late, 1u);
    }
  }
};

TEST_P(Fault, AKilledWorkerChangesNothingButTheTime) {
  JobWorld world(JobWorld::Options(4, GetParam()));
  world.StartServer();
  world.StartWorkers();
  world.watcher.on_step = [&](StepId step) {
    if (step == 3) world.Kill(*world.workers[1]);
  };
  ExpectQuietLoss(world);
  EXPECT_TRUE(world.result->scheduler.workers[1].lost);
  EXPECT_EQ(world.watcher.lost.count(1), 1u);
}

TEST_P(Fault, OneSurvivorOfFourFinishesTheJob) {
  JobWorld world(JobWorld::Options(4, GetParam()));
  world.StartServer();
  world.StartWorkers();
  world.watcher.on_step = [&](StepId step) {
    if (step == 2 || step == 4 || step == 6) world.Kill(*world.workers[step / 2]);
  };
  ExpectQuietLoss(world);
  EXPECT_EQ(world.watcher.lost.size(), 3u);
}

TEST_P(Fault, AWorkerThatIsPausedIsWaitedForOrReplaced) {
  JobWorld world(JobWorld::Options(4, GetParam()));
  world.options.steps = 30;
  world.StartServer();
  world.StartWorkers();
  world.watcher.on_step = [&](StepId step) {
    if (step != 3 && step != 4) return;
    world.workers[0]->device->SetSpeed(step == 3 ? 1e-4 : 1);  // One chunk takes minutes.
  };
  ExpectQuietLoss(world);
  EXPECT_FALSE(world.result->scheduler.workers[0].lost);
}

TEST_P(Fault, AnAnswerThatIsNotANumberIsRefusedAndTheSumStaysClean) {
  JobWorld world(JobWorld::Options(4, GetParam()));
  world.StartServer();
  world.StartWorkers();
  world.workers[2]->node->SetAnswerFilter([](StepId step, std::span<float> vector) {
    if (step == 5) vector[3] = std::numeric_limits<float>::quiet_NaN();
  });
  ExpectQuietLoss(world);
  ExpectRefusedOrLate(world.result->scheduler.workers[2]);
}

TEST_P(Fault, AnAbsurdlyLargeAnswerIsRefused) {
  JobWorld world(JobWorld::Options(4, GetParam()));
  world.StartServer();
  world.StartWorkers();
  world.workers[0]->node->SetAnswerFilter([](StepId step, std::span<float> vector) {
    if (step == 5) vector[0] = 1e35f;
  });
  ExpectQuietLoss(world);
  ExpectRefusedOrLate(world.result->scheduler.workers[0]);
}

// Right answers in later steps do not hide the worst one.
TEST(Audit, TheWorstStepIsTheOneThatIsReported) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  world.StartWorkers();
  world.workers[1]->node->SetAnswerFilter([](StepId step, std::span<float> vector) {
    if (step == 2) vector[0] += 100;
  });
  EXPECT_GT(world.Run().max_decode_error, 0.1);
}

TEST_P(Fault, AWorkerThatOnlySendsNonsenseIsSentAway) {
  JobWorld world(JobWorld::Options(4, GetParam()));
  world.StartServer();
  world.StartWorkers();
  world.workers[3]->node->SetAnswerFilter([](StepId, std::span<float> vector) {
    vector.back() = std::numeric_limits<float>::infinity();
  });
  ExpectQuietLoss(world);
  EXPECT_TRUE(world.result->scheduler.workers[3].lost);
  ASSERT_TRUE(world.workers[3]->ended);
  EXPECT_EQ(world.workers[3]->ended->code(), StatusCode::kDataError);
  EXPECT_NE(world.workers[3]->ended->ToString().find("sent away"), std::string::npos);
}

// A supervisor restarts the worker again and again. Each incarnation would cost three refused
// answers.
TEST_P(Fault, AWorkerSentAwayForItsAnswersIsNotLetInAgain) {
  JobWorld world(JobWorld::Options(4, GetParam()));
  world.options.steps = 80;
  world.StartServer();
  world.StartWorkers();
  world.workers[3]->node->SetAnswerFilter([](StepId, std::span<float> vector) {
    vector.back() = std::numeric_limits<float>::infinity();
  });
  ASSERT_TRUE(world.RunUntil([&] { return world.workers[3]->ended.has_value(); }));
  const size_t joined = world.watcher.joined.size();
  WorkerBox& again = world.StartWorker(3, 1, kToken, "box-3");
  ASSERT_TRUE(world.RunUntil([&] { return again.ended.has_value(); }));
  EXPECT_EQ(again.ended->code(), StatusCode::kPermission) << again.ended->ToString();
  EXPECT_EQ(world.watcher.joined.size(), joined);
  world.StartWorker(3, 1, kToken, "another");
  ExpectQuietLoss(world);
  EXPECT_EQ(world.watcher.joined.size(), joined + 1) << "another machine may take its place";
}

TEST_P(Fault, AWorkerThatJoinsLateGetsAShare) {
  JobWorld world(JobWorld::Options(4, GetParam()));
  world.options.steps = 80;
  world.StartServer();
  for (int i = 0; i < 3; ++i) world.StartWorker(i);
  world.watcher.on_step = [&](StepId step) {
    if (step == 4) world.StartWorker(3);
  };
  ExpectQuietLoss(world);
  EXPECT_GT(world.watcher.rows_of[3], 0);
}

TEST_P(Fault, AKilledWorkerMayComeBackAsANewLife) {
  // An even number, for codes with groups of two.
  JobWorld world(JobWorld::Options(4, GetParam()));
  world.options.steps = 80;
  world.StartServer();
  world.StartWorkers();
  world.watcher.on_step = [&](StepId step) {
    if (step == 3) world.Kill(*world.workers[1]);
    if (step == 5) world.StartWorker(1);
    if (step == 8) world.watcher.rows_of[1] = 0;
  };
  ExpectQuietLoss(world);
  EXPECT_FALSE(world.result->scheduler.workers[1].lost);
  EXPECT_GT(world.watcher.rows_of[1], 0);
  ASSERT_EQ(world.watcher.joined.size(), 5u);
  EXPECT_EQ(world.watcher.joined[4].first, 1u);
}

INSTANTIATE_TEST_SUITE_P(Codes, Fault, testing::ValuesIn(CodeNames()),
                         [](const auto& tested) { return TestNameOf(tested.param); });

TEST(Faults, AJobThatLosesAllWorkersSaysSo) {
  JobWorld world(JobWorld::Options(2, "repetition"));
  world.StartServer();
  world.StartWorkers();
  world.watcher.on_step = [&](StepId step) {
    if (step != 3) return;
    for (const auto& worker : world.workers) world.Kill(*worker);
  };
  const JobResult& result = world.Run();
  EXPECT_EQ(result.status.code(), StatusCode::kUnavailable);
  EXPECT_NE(result.status.message().find("no worker is left at step 3"), std::string::npos)
      << result.status.ToString();
  EXPECT_EQ(result.steps, 3u);
  EXPECT_EQ(result.discarded_steps, 1u);
}

TEST(Faults, AJobWithoutWorkersGivesUpAfterItsStartTimeout) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.options.start_timeout = std::chrono::seconds(5);
  world.StartServer();
  const JobResult& result = world.Run();
  EXPECT_EQ(result.status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(result.steps, 0u);
  EXPECT_EQ(result.discarded_steps, 0u);
}

TEST(Faults, StopEndsAJobAndItsWorkersGoHome) {
  JobWorld world(JobWorld::Options(3, "none"));
  world.options.steps = 1000;
  world.StartServer();
  world.StartWorkers();
  world.watcher.on_step = [&](StepId step) {
    if (step == 7) world.loop.Post([&] { world.server->Stop("interrupted"); });
  };
  const JobResult& result = world.Run();
  EXPECT_EQ(result.status.code(), StatusCode::kCancelled);
  EXPECT_EQ(result.status.message(), "interrupted");
  EXPECT_EQ(result.steps, 7u);
  EXPECT_EQ(result.discarded_steps, 1u);
  world.RunUntil([&] { return world.loop.pending() == 0; });
  for (const auto& worker : world.workers) {
    ASSERT_TRUE(worker->ended);
    EXPECT_TRUE(worker->ended->ok()) << worker->ended->ToString();
  }
}

TEST(Faults, NodesMayBeDestroyedAtAnyMoment) {
  for (int tasks = 1; tasks < 400; tasks += 7) {
    JobWorld world(JobWorld::Options(3, "cyclic"));
    world.StartServer();
    world.StartWorkers();
    for (int i = 0; i < tasks && world.loop.RunOne(); ++i) {
    }
    world.server.reset();
    world.workers[tasks % 3]->node.reset();
    world.RunUntil([&] { return world.loop.pending() == 0; });
    EXPECT_FALSE(world.result);
  }
}

TEST(Faults, AServerThatDiesIsUnavailable) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.worker_wait = std::chrono::seconds(20);
  world.StartServer();
  world.StartWorkers();
  world.watcher.on_step = [&](StepId step) {
    if (step == 3) world.loop.Post([&] { world.server_transport->Close(); });
  };
  EXPECT_TRUE(world.RunUntil([&] { return world.workers[0]->ended && world.workers[1]->ended; }));
  EXPECT_EQ(world.workers[0]->ended->code(), StatusCode::kUnavailable);
  EXPECT_NE(world.workers[0]->ended->ToString().find("lost the server"), std::string::npos);
}

}  // namespace
}  // namespace motley
