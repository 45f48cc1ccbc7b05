// SPDX-License-Identifier: Apache-2.0
// Jobs with one worker that says absurd things about itself.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>

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

  // The job does all its steps, and the liar is told why it has to go.
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
  wire::PullT pull;
  pull.held_bytes = std::numeric_limits<uint64_t>::max();
  liar->Say(std::move(pull));
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

TEST_P(Claims, AbsurdComputeTimeOfALeaseSendsItsWorkerAwayAlone) {
  liar->Introduce(100);
  wire::LeaseProgressT progress;
  progress.compute_ns = std::numeric_limits<uint64_t>::max();
  liar->Say(std::move(progress));
  ExpectSentAwayAlone();
}

// What is possible ends no job with fixed shares, however far it is from the truth. Leases still
// wait for a worker that claims to be the fastest and stays mute.
TEST(Claim, TheGreatestAndTheLeastPossibleSpeedEndNoJob) {
  for (const double speed : {1e12, 1e-9, 0.0}) {
    JobWorld other(JobWorld::Options(4, "none"));
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

INSTANTIATE_TEST_SUITE_P(Codes, Claims, testing::Values("auto", "adaptive", "none"),
                         [](const auto& code) { return code.param; });

}  // namespace
}  // namespace motley
