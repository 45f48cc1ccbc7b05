// SPDX-License-Identifier: Apache-2.0
// Jobs in which one worker makes absurd claims about itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "tests/runtime/job_world.h"

namespace motley {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Claims : public testing::TestWithParam<std::string> {
 protected:
  Claims() : world(JobWorld::Options(4, GetParam())) {
    world.options.tolerate = 0;
    world.options.steps = 30;
    world.StartServer();
    for (int32_t i = 0; i < 3; ++i) world.StartWorker(i, 100 * (i + 1));
    liar = std::make_unique<FakeWorker>(world, 77);
    EXPECT_TRUE(world.RunUntil([&] { return liar->connected; }));
    liar->Join(3);
    EXPECT_TRUE(world.RunUntil([&] { return liar->accept.has_value(); }));
  }

  // The job does all its steps, and the liar's goodbye says why it must leave.
  void ExpectSentAwayAlone() {
    world.ExpectSerial(1e-4);
    EXPECT_EQ(world.watcher.lost.size(), 1u);
    ASSERT_TRUE(liar->leave.has_value());
    EXPECT_NE(liar->leave->reason.find("it claims"), std::string::npos) << liar->leave->reason;
  }

  JobWorld world;
  std::unique_ptr<FakeWorker> liar;
};

TEST_P(Claims, AnAbsurdSpeedSendsItsWorkerAwayAlone) {
  liar->Introduce(DBL_MAX);
  ExpectSentAwayAlone();
}

TEST_P(Claims, ASpeedThatIsNoNumberSendsItsWorkerAwayAlone) {
  liar->Introduce(std::numeric_limits<double>::quiet_NaN());
  ExpectSentAwayAlone();
}

TEST_P(Claims, AnInfiniteSpeedSendsItsWorkerAwayAlone) {
  liar->Introduce(kInfinity);
  ExpectSentAwayAlone();
}

TEST_P(Claims, ANegativeSpeedSendsItsWorkerAwayAlone) {
  liar->Introduce(-1);
  ExpectSentAwayAlone();
}

TEST_P(Claims, ASpeedNextToNothingSendsItsWorkerAwayAlone) {
  liar->Introduce(DBL_MIN);
  ExpectSentAwayAlone();
}

TEST_P(Claims, AbsurdHeldBytesSendTheirWorkerAwayAlone) {
  wire::ReadyT ready;
  ready.held_bytes = std::numeric_limits<uint64_t>::max();
  liar->Say(std::move(ready));
  ExpectSentAwayAlone();
}

TEST_P(Claims, AnAbsurdComputeTimeSendsItsWorkerAwayAlone) {
  liar->Introduce(100);
  wire::ProgressT progress;
  progress.compute_ns = std::numeric_limits<uint64_t>::max();
  liar->Say(std::move(progress));
  ExpectSentAwayAlone();
}

TEST_P(Claims, MoreSamplesThanAStepHasSendTheirWorkerAwayAlone) {
  liar->Introduce(100);
  wire::ProgressT progress;
  progress.samples = world.options.batch + 1;
  liar->Say(std::move(progress));
  ExpectSentAwayAlone();
}

TEST_P(Claims, AbsurdComputeTimeOfAnOrderSendsItsWorkerAwayAlone) {
  liar->Introduce(100);
  wire::ProgressT progress;
  progress.order = 1;
  progress.compute_ns = std::numeric_limits<uint64_t>::max();
  liar->Say(std::move(progress));
  ExpectSentAwayAlone();
}

// Possible claims end no job, however false they are.
TEST(Claim, TheGreatestAndTheLeastPossibleSpeedEndNoJob) {
  for (const char* code : {"none", "adaptive", "auto"}) {
    for (const double speed : {1e12, 1e-9, 0.0}) {
      SCOPED_TRACE(fmt::format("{}, speed {}", code, speed));
      JobWorld other(JobWorld::Options(4, code));
      other.options.tolerate = 0;
      other.StartServer();
      for (int32_t i = 0; i < 3; ++i) other.StartWorker(i, 100 * (i + 1));
      FakeWorker mute(other, 78);
      ASSERT_TRUE(other.RunUntil([&] { return mute.connected; }));
      mute.Join(3);
      mute.Introduce(speed);
      other.ExpectSerial(1e-4);
    }
  }
}

// A job of leases with three honest workers and a fourth that a test controls. Steps of the three
// take 1.7 ms of virtual time.
class LeaseClaims : public testing::Test {
 protected:
  LeaseClaims() : world(JobWorld::Options(4, "adaptive")) {
    world.options.steps = 2000;
    world.options.audit_fraction = 0.1;
    world.watcher.on_step = [this](StepId step) {
      if (step == 100) since_ = world.loop.Now();
    };
    world.StartServer();
    for (int32_t i = 0; i < 3; ++i) world.StartWorker(i, i + 1);
  }

  void ExpectStepsAsOfThree() {
    const JobResult& end = world.Run();
    ASSERT_TRUE(end.status.ok()) << end.status.ToString();
    EXPECT_LT(ToSeconds(world.loop.Now() - since_) / 1900, 0.0025);
  }

  // The worker answers every request, and reports all but `left` partitions of its list as done. It
  // sends no vectors.
  static void PretendToWork(FakeWorker& liar, size_t left) {
    liar.on_control = [&liar, left, list = std::pair<StepId, uint32_t>(),
                       size = size_t{0}](const wire::ControlT& control) mutable {
      if (const auto* order = control.body.AsOrder()) {
        const auto number = std::pair(order->step, order->order);
        if (std::exchange(list, number) != number) size = 0;
        size += order->partitions.size();
        wire::ProgressT progress;
        progress.step = order->step;
        progress.order = order->order;
        progress.entries = static_cast<uint32_t>(size - std::min(size, left));
        progress.compute_ns = 1000;
        liar.Say(std::move(progress));
      } else if (const auto* revoke = control.body.AsRevoke()) {
        wire::ReleasedT released;
        released.step = revoke->step;
        released.order = revoke->order;
        liar.Say(std::move(released));
      }
    };
  }

  void RunWithOneThatLeaves(size_t left) {
    FakeWorker liar(world, 78);
    PretendToWork(liar, left);
    ASSERT_TRUE(world.RunUntil([&] { return liar.connected; }));
    liar.Join(3);
    liar.Introduce(10000);
    ExpectStepsAsOfThree();
    EXPECT_FALSE(liar.leave && world.watcher.lost.size() > 0) << liar.leave->reason;
  }

  JobWorld world;

 private:
  Time since_{};
};

TEST_F(LeaseClaims, AListThatIsSaidToBeDoneAndNeverComesHoldsNoStepUpForLong) {
  RunWithOneThatLeaves(0);
}

TEST_F(LeaseClaims, AListThatIsNeverFinishedHoldsNoStepUpForLong) { RunWithOneThatLeaves(1); }

TEST_F(LeaseClaims, AListThatIsNeverBegunHoldsNoStepUpForLong) { RunWithOneThatLeaves(1000); }

TEST_F(LeaseClaims, AWordOnlyWhenALeaseIsTakenAwayHoldsNoStepUpForLong) {
  FakeWorker liar(world, 78);
  liar.on_control = [&liar](const wire::ControlT& control) {
    if (const auto* cancel = control.body.AsCancel()) {
      wire::ProgressT word;
      word.step = cancel->step;
      liar.Say(std::move(word));
    }
  };
  ASSERT_TRUE(world.RunUntil([&] { return liar.connected; }));
  liar.Join(3);
  liar.Introduce(10000);
  ExpectStepsAsOfThree();
}

// A worker joins the same seat again and again.
TEST_F(LeaseClaims, AStormOfJoinsSlowsStepsLittle) {
  std::unique_ptr<FakeWorker> liar;
  Incarnation life = 100;
  int joined = 0;
  std::function<void()> join = [&] {
    liar = std::make_unique<FakeWorker>(world, ++life);
    PretendToWork(*liar, 0);
    liar->Join(3);
    liar->Introduce(10000);
    ++joined;
    world.loop.After(std::chrono::milliseconds(40), [&] { join(); });
  };
  join();
  ExpectStepsAsOfThree();
  EXPECT_GT(joined, 50);
}

INSTANTIATE_TEST_SUITE_P(Codes, Claims, testing::Values("auto", "adaptive", "none"),
                         [](const auto& code) { return code.param; });

}  // namespace
}  // namespace motley
