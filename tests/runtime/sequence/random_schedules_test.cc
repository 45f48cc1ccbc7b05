// SPDX-License-Identifier: Apache-2.0
// 100 random schedules for each mode of synchronisation: workers die, join and pause at random
// updates of whole jobs with real gradients. Every gradient and every version is held to a
// sequential training of the same order of events. A seed replays its schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/runtime/job_world.h"
#include "tests/runtime/sequence/local_rounds.h"
#include "tests/runtime/sequence/own_updates.h"
#include "tests/runtime/sequence/sequential_training.h"

namespace motley {
namespace {

constexpr uint64_t kSchedules = 100;
constexpr uint64_t kUpdates = 24;
constexpr uint32_t kBatch = 40;

// What happened in all schedules of a mode.
struct Happened {
  int deaths = 0;
  int joins = 0;  // After the start.
  int pauses = 0;
  uint64_t partial = 0;     // Updates without some of their samples.
  uint64_t stale = 0;       // Schedules with a gradient that was updates old.
  uint64_t rows_ahead = 0;  // With local:H,K.
};

void PrintTo(const Happened& all, std::ostream* out) {
  *out << all.deaths << " deaths, " << all.joins << " joins, " << all.pauses << " pauses, "
       << all.partial << " partial updates, " << all.stale << " schedules with old gradients, "
       << all.rows_ahead << " rows after steps ahead";
}

// The workers' deaths, joins and pauses. One worker is always awake.
class RandomCourse {
 public:
  RandomCourse(JobWorld& world, Random& random) : world_(world), random_(random) {
    world_.StartWorkers();
    for (const auto& box : world_.workers) seats_.push_back(box.get());
    awake_.assign(seats_.size(), true);
  }

  void RunAlmostToTheEnd(Happened& all) {
    for (uint64_t next = 1 + random_.Below(3); next < kUpdates; next += 1 + random_.Below(4)) {
      ASSERT_TRUE(world_.RunUntil([&] {
        return static_cast<uint64_t>(world_.watcher.applied) >= next || world_.result;
      })) << "stands still after "
          << world_.watcher.applied << " updates";
      Act(random_.Below(seats_.size()), all);
    }
    for (WorkerBox* box : seats_) {
      if (box != nullptr) box->device->SetSpeed(1);
    }
  }

 private:
  void Act(size_t at, Happened& all) {
    const bool last = awake_[at] && std::count(awake_.begin(), awake_.end(), true) == 1;
    if (seats_[at] == nullptr) {
      seats_[at] = &world_.StartWorker(static_cast<int32_t>(at), 0.5 + random_.NextDouble());
      awake_[at] = true;
      ++all.joins;
    } else if (!last && random_.Chance(0.5)) {
      world_.Kill(*seats_[at]);
      seats_[at] = nullptr;
      awake_[at] = false;
      ++all.deaths;
    } else {
      awake_[at] = last || random_.Chance(0.7);
      // Work that has begun keeps its speed. A pause lasts some seconds, where others need some
      // milliseconds.
      seats_[at]->device->SetSpeed(awake_[at] ? 0.2 + 3 * random_.NextDouble() : 1e-3);
      all.pauses += awake_[at] ? 0 : 1;
    }
  }

  JobWorld& world_;
  Random& random_;
  std::vector<WorkerBox*> seats_;  // Null: the worker died.
  std::vector<bool> awake_;
};

template <typename T, size_t n>
T OneOf(const T (&all)[n], Random& random) {
  return all[random.Below(n)];
}

void GiveOwnUpdates(JobOptions& options, Random& random) {
  constexpr OldGradients kOld[] = {OldGradients::kAsOthers, OldGradients::kRate,
                                   OldGradients::kGap};
  if (options.sync.in_order && random.Chance(0.5)) options.turns = options.workers;
  if (options.sync.own_momentum) {
    options.optimizer.name = "nag";
  } else if (options.optimizer.name == "sgd") {
    options.old_gradients = OneOf(kOld, random);
  }
}

void GiveRounds(JobOptions& options) {
  options.code = "approximate";
  options.local.batch = 10;
  options.local.ahead = options.sync.local_ahead;
  options.local.optimizer.name = "sgd";
  options.batch = options.workers * options.sync.local_steps * options.local.batch;
  options.optimizer = {.name = "nag", .learning_rate = 0.7};
}

void GiveSharedSteps(JobOptions& options, Random& random) {
  constexpr const char* kCodes[] = {"none", "multi-message", "repetition", "cyclic",
                                    "heterogeneous"};
  if (options.sync.backup > 0) {
    options.code = "approximate";
    options.quorum = options.workers - options.sync.backup;
  } else {
    options.code = OneOf(kCodes, random);
    options.tolerate = options.code == "none" ? 0 : 1;
  }
}

// A job of this mode. Workers, the optimizer and what else the mode leaves open are drawn.
JobOptions JobOf(const std::string& mode, uint64_t seed, Random& random) {
  constexpr const char* kRules[] = {"sgd", "momentum", "nag", "adam"};
  const SyncMode sync = *ParseSyncMode(mode);
  const uint32_t least = sync.backup + 2;
  const auto workers = static_cast<uint32_t>(least + random.Below(6 - least));
  JobOptions options = JobWorld::Options(workers, "none");
  options.sync = sync;
  options.audit_fraction = 0;
  options.batch = kBatch;
  options.steps = kUpdates;
  options.seed = seed;
  options.optimizer.name = OneOf(kRules, random);
  options.optimizer.learning_rate = options.optimizer.name == "adam" ? 0.01 : 0.05;
  options.optimizer.epsilon = 1e-3;  // Adam would turn rounding errors into whole steps.
  if (sync.one_each) {
    GiveOwnUpdates(options, random);
  } else if (sync.local_steps > 0) {
    GiveRounds(options);
  } else {
    GiveSharedSteps(options, random);
  }
  return options;
}

class RandomSchedules : public testing::TestWithParam<const char*> {};

TEST_P(RandomSchedules, EqualASequentialTraining) {
  Happened all;
  for (uint64_t seed = 0; seed < kSchedules; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed, Stream::kTest);
    JobWorld world(JobOf(GetParam(), seed, random));
    const auto training = SequentialTraining::Of(world);
    world.StartServer();
    RandomCourse(world, random).RunAlmostToTheEnd(all);
    training->ExpectSameToTheEnd();
    all.partial += training->partial();
    if (const auto* rounds = dynamic_cast<const LocalRounds*>(training.get())) {
      all.rows_ahead += rounds->rows_ahead();
    } else if (const auto* own = dynamic_cast<const OwnUpdates*>(training.get())) {
      all.stale += own->stalest() > 0 ? 1 : 0;
    }
    if (HasFailure()) break;  // The first seed says most.
  }
  const SyncMode sync = *ParseSyncMode(GetParam());
  SCOPED_TRACE(testing::PrintToString(all));
  EXPECT_GT(all.deaths, 100);
  EXPECT_GT(all.joins, 100);
  EXPECT_GT(all.pauses, 50);
  EXPECT_EQ(all.partial > 50, sync.backup + sync.local_steps > 0);
  EXPECT_EQ(all.stale > 50, sync.one_each);
  EXPECT_EQ(all.rows_ahead > 500, sync.local_ahead > 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, RandomSchedules,
                         testing::Values("bsp", "backup:1", "local:3", "local:3,2", "ssp:2",
                                         "dssp:1,4", "asp", "dana", "r2sp"),
                         [](const testing::TestParamInfo<const char*>& mode) {
                           std::string name = mode.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace motley
