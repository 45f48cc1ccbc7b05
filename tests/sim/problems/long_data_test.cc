// SPDX-License-Identifier: Apache-2.0
// Tests how scenarios with workers that wait for their data are drawn, counted and judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/checkers/data_wait_checker.h"
#include "sim/data_arrivals.h"
#include "sim/scenario.h"
#include "sim/world/sim_process.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Time At(double seconds) { return Time(FromSeconds(seconds)); }

// --- Drawing scenarios ---

TEST(LongData, OneInEightOfThoseWithReturnsHaveThem) {
  int with_returns = 0, chosen = 0, only_kills = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const SimOptions options = MakeScenario(seed).options;
    const RandomFaults& faults = options.random_faults;
    const bool others = faults.pause_every + faults.slow_every + faults.partition_every +
                            faults.nan_every + faults.garble_every + faults.break_every >
                        0;
    if (options.data_bytes == 0) {
      with_returns += faults.kill_every > 0 && faults.restart > 0 && options.job.workers > 1 &&
                      options.trainer != SimTrainer::kSquaresOwnData;
      continue;
    }
    ++chosen;
    only_kills += !others;
    EXPECT_EQ(faults.restart, 1) << seed;
    EXPECT_FALSE(options.faults.empty()) << seed;
    for (const WorkerProfile& worker : options.cluster.workers) {
      EXPECT_GT(worker.link.bytes_per_second, 0) << seed;
    }
  }
  EXPECT_NEAR(chosen, (with_returns + chosen) / 8.0, 15);
  EXPECT_NEAR(only_kills, chosen / 2.0, 15);
}

// --- Counting and judging ---

class Returns : public testing::Test {
 protected:
  // A job with two workers and eight partitions. A partition takes one second.
  static SimOptions Options() {
    SimOptions options;
    options.job.workers = 2;
    options.job.batch = 8;
    options.job.code = "adaptive";
    options.cluster.workers.resize(2);
    for (WorkerProfile& worker : options.cluster.workers) worker.device.samples_per_second = 1;
    return options;
  }

  explicit Returns(SimOptions options = Options()) : options_(std::move(options)) {}

  void Join(WorkerId worker, WorkerId process) {
    taken_[process] = 0;
    arrivals_.OnEvent(event::WorkerJoined{worker, SimWorkerName({}, process)});
    waits_.OnEvent(event::WorkerJoined{worker, SimWorkerName({}, process)});
  }
  void Lose(WorkerId worker) {
    arrivals_.OnEvent(event::WorkerLost{worker, Status::Unavailable("gone")});
    waits_.OnEvent(event::WorkerLost{worker, Status::Unavailable("gone")});
  }
  void Place(WorkerId worker, std::vector<PartitionId> partitions) {
    const Command place = PlacePartitions{worker, std::move(partitions)};
    arrivals_.OnEvent(event::CommandGiven{place, At(0)});
    waits_.OnEvent(event::CommandGiven{place, At(0)});
  }
  void Open(double now) { waits_.OnEvent(event::StepOpened{0, CodeForm(), At(now)}); }
  void Answer(WorkerId worker) {
    arrivals_.OnEvent(event::VectorArrived{0, worker, {}, At(0)});
    waits_.OnEvent(event::VectorArrived{0, worker, {}, At(0)});
  }
  void Apply(double now) {
    arrivals_.OnEvent(event::StepApplied{0, {}, 0, At(now)});
    waits_.OnEvent(event::StepApplied{0, {}, 0, At(now)});
  }
  // Both workers were sent everything. Worker 1 came back and has received nothing yet.
  void LetOneReturn() {
    Join(0, 0);
    Join(1, 1);
    Place(0, kAll);
    taken_[0] = kAll.size();
    Lose(1);
    Join(1, 1);
    Place(1, kAll);
  }
  uint64_t Times(const std::string& state) const {
    const auto found = reached_.reached().find(state);
    return found != reached_.reached().end() ? found->second : 0;
  }

  const std::vector<PartitionId> kAll = {0, 1, 2, 3, 4, 5, 6, 7};
  const SimOptions options_;
  std::map<WorkerId, uint64_t> taken_;  // Blocks received, by process.
  ReachedStates reached_{options_.job};
  DataArrivals arrivals_{reached_,
                         {SimWorkerName({}, 0), SimWorkerName({}, 1)},
                         [this](WorkerId process) { return taken_.at(process); }};
  Violations violations_;
  DataWaitChecker waits_{violations_, options_, arrivals_, 4};
};

TEST_F(Returns, DataThatTakeSeveralStepsAreSeenToCome) {
  LetOneReturn();
  EXPECT_EQ(arrivals_.OnTheirWay(1), 8u);
  Apply(1);
  taken_[1] = 5;
  Apply(2);
  EXPECT_EQ(arrivals_.OnTheirWay(1), 3u);
  Answer(1);
  EXPECT_THAT(reached_.reached(), IsEmpty());
  taken_[1] = 8;
  Apply(3);
  EXPECT_EQ(Times("came back, and its data took several steps"), 1u);
  Answer(1);
  Answer(1);
  EXPECT_EQ(Times("computed again when its data had come"), 1u);
}

TEST_F(Returns, OneThatIsLostAgainBeforeIsCounted) {
  LetOneReturn();
  taken_[1] = 5;
  Apply(1);
  taken_[1] = 0;  // The worker's next process has started.
  Lose(1);
  EXPECT_EQ(Times("lost again while its data were under way"), 1u);
  Join(1, 1);
  Lose(1);
  EXPECT_EQ(Times("lost again while its data were under way"), 1u) << "nothing was sent to it";
}

TEST_F(Returns, AProcessMayGetAnothersPlace) {
  Join(0, 1);
  Join(1, 0);
  Place(1, kAll);
  taken_[0] = 6;
  EXPECT_EQ(arrivals_.OnTheirWay(1), 2u);
  EXPECT_EQ(arrivals_.ProcessOf(1), 0u);
}

// The other worker alone takes eight seconds. Four times that is allowed.
TEST_F(Returns, AStepThatWaitsForDataIsReported) {
  LetOneReturn();
  Open(0);
  Answer(1);
  Apply(30);
  Open(30);
  Answer(1);
  Answer(0);  // The last answer is of a worker that did not wait for data.
  Apply(63);
  EXPECT_THAT(violations_.list(), IsEmpty());
  Open(63);
  Answer(0);
  Answer(1);
  Apply(96);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("I11: step 0 took 33")));
  EXPECT_EQ(waits_.judged(), 3u);
}

TEST_F(Returns, AStepMayTakeLongWhereTheOtherLacksSomething) {
  Join(0, 0);
  Join(1, 1);
  Place(0, {0, 1, 2, 3});
  Place(1, {4, 5, 6, 7});
  taken_[0] = 4;
  Open(0);
  Apply(100);
  EXPECT_EQ(waits_.judged(), 0u);
}

TEST_F(Returns, AStepMayTakeLongWhenSomebodyIsLostInItOrAllDataAreThere) {
  LetOneReturn();
  Open(0);
  Lose(1);
  Apply(100);
  Join(1, 1);
  Place(1, kAll);
  taken_[1] = 8;
  Open(100);
  Apply(200);
  EXPECT_EQ(waits_.judged(), 0u);
}

class ReturnsAmongPauses : public Returns {
 protected:
  static SimOptions Pauses() {
    SimOptions options = Options();
    options.random_faults.pause_every = 1;
    return options;
  }
  ReturnsAmongPauses() : Returns(Pauses()) {}
};

TEST_F(ReturnsAmongPauses, NothingIsJudged) {
  LetOneReturn();
  Open(0);
  Apply(100);
  EXPECT_EQ(waits_.judged(), 0u);
}

}  // namespace
}  // namespace motley
