// SPDX-License-Identifier: Apache-2.0
// Whole jobs whose workers have updates of their own (asp, ssp:S, dssp:LO,HI), in virtual time.
// Every job is held to a sequential training that applies the same gradients in the same order.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "base/random.h"
#include "scheduler/job_scheduler.h"

namespace motley {
namespace {

constexpr double kRate = 0.3;
constexpr double kMessageSeconds = 0.001;
constexpr double kDetectSeconds = 0.1;  // From a death until it is noticed.

// The gradient of an update's batch at a parameter.
double GradientOf(StepId update, double parameter) {
  const auto t = static_cast<double>(update);
  return (1 + 0.01 * t) * parameter - t;
}

SchedulerOptions Options(uint32_t workers, const std::string& sync, uint64_t steps) {
  SchedulerOptions options;
  options.workers = workers;
  options.partitions = 12;
  options.batch = 120;
  options.steps = steps;
  options.sync = *ParseSyncMode(sync);
  return options;
}

// An update as it was applied.
struct Applied {
  StepId update = 0;
  uint64_t version = 0;  // The version that its gradient was computed at.
  double result = 0;     // The parameter afterwards.
};

class World {
 public:
  World(const SchedulerOptions& options, std::vector<double> speeds, uint64_t seed)
      : options_(options), random_(seed, Stream::kTest), fakes_(speeds.size()) {
    scheduler_ = std::move(JobScheduler::Make(options)).value();
    for (WorkerId id = 0; id < fakes_.size(); ++id) fakes_[id].speed = speeds[id];
    Tell(Tick{});
  }

  void At(double seconds, Task task) { loop_.After(FromSeconds(seconds), std::move(task)); }
  void Birth(WorkerId id) {
    Fake& fake = fakes_[id];
    fake.alive = true;
    fake.paused = false;
    fake.work.clear();
    const uint64_t life = ++fake.life;
    ToServer(id, [this, id, life] { Tell(WorkerJoined{id, life}); });
    At(0.05, [this, id, life] {
      if (fakes_[id].life != life) return;
      ToServer(id, [this, id] { Tell(WorkerFree{id, 0, {}, fakes_[id].speed}); });
    });
  }
  void Death(WorkerId id) {
    if (!std::exchange(fakes_[id].alive, false)) return;
    const uint64_t life = ++fakes_[id].life;
    At(kDetectSeconds, [this, id, life] {
      if (fakes_[id].life == life) Tell(WorkerLost{id, Status::Unavailable("killed")});
    });
  }
  void Pause(WorkerId id) { fakes_[id].paused = true; }
  void Resume(WorkerId id) {
    if (!fakes_[id].alive || !std::exchange(fakes_[id].paused, false)) return;
    Compute(id);
  }
  void RunUntil(double seconds) {
    loop_.RunUntil([&] { return ended_ || ToSeconds(loop_.Now() - start_) > seconds; });
  }

  bool ended() const { return ended_; }
  const Status& status() const { return status_; }
  const std::vector<Applied>& applied() const { return applied_; }
  // For each update that began: the worker's lead over the slowest, in updates that were applied.
  const std::vector<uint64_t>& leads() const { return leads_; }
  const std::vector<uint64_t>& counts() const { return counts_; }  // Updates by worker.
  size_t most_open() const { return most_open_; }
  const std::map<StepId, uint64_t>& bases() const { return bases_; }

 private:
  struct Work {
    StepId update;
    double parameter;
    uint64_t version;
    uint64_t attempt;  // How often the update was opened by then.
    bool cancelled = false;
  };
  struct Fake {
    double speed = 1;
    bool alive = false;
    bool paused = false;
    uint64_t life = 0;
    std::deque<Work> work;
    uint64_t turn = 0;
  };

  void Tell(const Event& event) {
    if (ended_) return;
    std::vector<Command> commands;
    scheduler_->OnEvent(event, loop_.Now(), commands);
    for (const Command& command : commands) {
      std::visit(
          [this](const auto& each) {
            if constexpr (requires { Do(each); }) Do(each);
          },
          command);
    }
    if (timer_) loop_.Cancel(*timer_);
    timer_.reset();
    const Time due = scheduler_->Deadline();
    if (ended_ || due == kNever) return;
    timer_ = loop_.After(std::max(due - loop_.Now(), Duration::zero()), [this] {
      timer_.reset();
      Tell(Tick{});
    });
  }
  void ToServer(WorkerId id, Task task) {
    const uint64_t life = fakes_[id].life;
    const double takes = kMessageSeconds * (1 + random_.NextDouble());
    Time& last = arrival_[id];
    last = std::max(last, loop_.Now() + FromSeconds(takes));
    loop_.After(last - loop_.Now(), [this, id, life, task = std::move(task)] {
      if (fakes_[id].life == life) task();
    });
  }

  void Do(const OpenStep& command) {
    EXPECT_TRUE(command.base_version <= applied_.size()) << "no such version";
    EXPECT_EQ(command.code->rows.size(), 1u);
    EXPECT_EQ(command.code->rows[0].size(), options_.partitions) << "the batch is whole";
    if (bases_.emplace(command.step, command.base_version).second) {
      EXPECT_EQ(command.base_version, applied_.size()) << "the newest version";
    }
    open_.insert(command.step);
    ++attempts_[command.step];
    asked_.erase(command.step);
    most_open_ = std::max(most_open_, open_.size());
  }
  void Do(const AssignRow& command) {
    Fake& fake = fakes_[command.worker];
    EXPECT_TRUE(open_.contains(command.step));
    EXPECT_TRUE(asked_.insert(command.step).second) << "one sum has one version";
    if (owners_.emplace(command.step, command.worker).second) {
      leads_.push_back(counts_[command.worker] - *std::min_element(counts_.begin(), counts_.end()));
    }
    const double parameter = applied_.empty() ? 0 : applied_.back().result;
    const uint64_t version = applied_.size();
    const uint64_t attempt = attempts_[command.step];
    At(kMessageSeconds, [this, command, parameter, version, attempt, life = fake.life] {
      Fake& to = fakes_[command.worker];
      if (to.life != life) return;
      to.work.push_back({command.step, parameter, version, attempt});
      if (to.work.size() == 1) Compute(command.worker);
    });
  }
  void Do(const CancelWork& command) {
    At(kMessageSeconds, [this, command] {
      for (Work& work : fakes_[command.worker].work) work.cancelled |= work.update <= command.step;
      Compute(command.worker);
    });
  }
  void Do(const CommitStep& command) {
    EXPECT_EQ(open_.erase(command.step), 1u);
    applying_.push_back(command.step);
    ApplyNext();
  }
  void Do(const EndJob& command) {
    ended_ = true;
    status_ = command.status;
  }

  void Compute(WorkerId id) {
    Fake& fake = fakes_[id];
    if (fake.paused || !fake.alive || fake.work.empty()) return;
    const uint64_t turn = ++fake.turn;
    const double noise = 1 + 0.2 * random_.NextDouble();
    const double takes = fake.work.front().cancelled ? 1e-4 : noise * options_.batch / fake.speed;
    At(takes, [this, id, turn, life = fake.life, takes] {
      Fake& worker = fakes_[id];
      if (worker.life != life || worker.turn != turn || worker.paused) return;
      const Work work = worker.work.front();
      worker.work.pop_front();
      if (!work.cancelled) ToServer(id, [this, id, work] { Answer(id, work); });
      const uint64_t samples = work.cancelled ? 0 : options_.batch;
      ToServer(id, [this, id, samples, takes] {
        Tell(WorkerFree{id, samples, FromSeconds(takes), 0});
      });
      Compute(id);
    });
  }
  void Answer(WorkerId id, const Work& work) {
    const bool counts = work.attempt == attempts_[work.update];
    if (!open_.contains(work.update) || came_.contains(work.update) || !counts) {
      return Tell(RowLate{id, work.update, 0});
    }
    came_.emplace(work.update, work);
    Tell(RowArrived{id, work.update, 0});
    Tell(StepDecodable{work.update});
  }
  // Does nothing while an update is being applied, or before the turn of the next one.
  void ApplyNext() {
    auto next = applying_.begin();
    if (options_.sync.in_order) {
      next = std::find(applying_.begin(), applying_.end(), applied_.size());
    }
    if (busy_ || next == applying_.end()) return;
    busy_ = true;
    const StepId chosen = *next;
    applying_.erase(next);
    At(apply_seconds_, [this, update = chosen] {
      const Work& work = came_.at(update);
      const double before = applied_.empty() ? 0 : applied_.back().result;
      applied_.push_back(
          {update, work.version, before - kRate * GradientOf(update, work.parameter)});
      ++counts_[owners_.at(update)];
      busy_ = false;
      Tell(StepApplied{update});
      ApplyNext();
    });
  }

  SchedulerOptions options_;
  Random random_;
  // Shorter than the time from an answer to its end in half of the worlds.
  const double apply_seconds_ = random_.Chance(0.5) ? 0.01 : 0.0001;
  VirtualLoop loop_;
  const Time start_ = loop_.Now();
  std::vector<Fake> fakes_;
  std::vector<Time> arrival_ = std::vector<Time>(fakes_.size());
  std::unique_ptr<JobScheduler> scheduler_;
  std::optional<TimerId> timer_;
  std::set<StepId> open_;
  std::map<StepId, uint64_t> attempts_;
  std::set<StepId> asked_;  // Updates that a worker was given since they were opened last.
  size_t most_open_ = 0;
  std::map<StepId, uint64_t> bases_;
  std::map<StepId, WorkerId> owners_;  // The first worker of each update.
  std::map<StepId, Work> came_;
  std::deque<StepId> applying_;
  bool busy_ = false;  // An update is being applied.
  std::vector<Applied> applied_;
  std::vector<uint64_t> leads_;
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(fakes_.size());
  bool ended_ = false;
  Status status_;
};

// Trains sequentially: each gradient is computed anew, at the version that its worker had.
void ExpectSameAsInSequence(const World& world, uint64_t steps) {
  ASSERT_EQ(world.applied().size(), steps);
  std::vector<double> versions{0};
  std::set<StepId> done;
  for (const Applied& each : world.applied()) {
    ASSERT_LT(each.version, versions.size());
    ASSERT_LE(world.bases().at(each.update), each.version) << "at least the base version";
    versions.push_back(versions.back() - kRate * GradientOf(each.update, versions[each.version]));
    ASSERT_EQ(versions.back(), each.result);
    ASSERT_TRUE(done.insert(each.update).second) << "update " << each.update << " twice";
  }
  EXPECT_EQ(*done.rbegin(), steps - 1) << "every batch counts once";
}

std::vector<double> Speeds(uint32_t workers, Random& random) {
  std::vector<double> speeds;
  for (uint32_t i = 0; i < workers; ++i) speeds.push_back(100 + 2000 * random.NextDouble());
  return speeds;
}

TEST(OwnUpdates, NobodyIsFurtherAheadThanTheBound) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed, Stream::kTest, 1);
    const auto workers = static_cast<uint32_t>(2 + random.Below(5));
    const uint64_t bound = random.Below(5);
    const std::string sync =
        seed % 2 == 0 ? fmt::format("ssp:{}", bound) : fmt::format("dssp:{},{}", bound / 2, bound);
    World world(Options(workers, sync, 60), Speeds(workers, random), seed);
    for (WorkerId id = 0; id < workers; ++id) world.Birth(id);
    world.RunUntil(1000);
    ASSERT_TRUE(world.ended() && world.status().ok()) << "seed " << seed;
    ExpectSameAsInSequence(world, 60);
    const auto [least, most] = std::minmax_element(world.leads().begin(), world.leads().end());
    EXPECT_LE(*most, bound) << "seed " << seed;
    EXPECT_EQ(*least, 0u);
    EXPECT_LE(world.most_open(), workers);
  }
}

TEST(OwnUpdates, AFastWorkerDoesMoreWithoutABound) {
  World world(Options(2, "asp", 110), {1000, 100}, 1);
  world.Birth(0);
  world.Birth(1);
  world.RunUntil(1000);
  ASSERT_TRUE(world.ended() && world.status().ok());
  ExpectSameAsInSequence(world, 110);
  EXPECT_EQ(world.most_open(), 2u);
  EXPECT_GT(world.counts()[0], 8 * world.counts()[1]);
}

TEST(OwnUpdates, InOrderGradientsMissLessThanOneUpdateOfEachWorker) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed, Stream::kTest, 3);
    const auto workers = static_cast<uint32_t>(1 + random.Below(5));
    World world(Options(workers, "r2sp", 60), Speeds(workers, random), seed);
    for (WorkerId id = 0; id < workers; ++id) world.Birth(id);
    world.RunUntil(1000);
    ASSERT_TRUE(world.ended() && world.status().ok()) << "seed " << seed;
    ExpectSameAsInSequence(world, 60);
    for (uint64_t number = 0; number < 60; ++number) {
      ASSERT_EQ(world.applied()[number].update, number);
      ASSERT_LT(number - world.applied()[number].version, workers);
    }
  }
}

TEST(OwnUpdates, WithBoundZeroAllDoTheSameNumber) {
  World world(Options(3, "ssp:0", 30), {1000, 300, 100}, 1);
  for (WorkerId id = 0; id < 3; ++id) world.Birth(id);
  world.RunUntil(1000);
  ASSERT_TRUE(world.ended() && world.status().ok());
  ExpectSameAsInSequence(world, 30);
  EXPECT_EQ(world.counts(), std::vector<uint64_t>(3, 10));
}

TEST(OwnUpdates, NobodyWaitsForAPausedWorker) {
  for (const char* sync : {"asp", "ssp:1"}) {
    World world(Options(3, sync, 60), {500, 500, 500}, 1);
    for (WorkerId id = 0; id < 3; ++id) world.Birth(id);
    world.At(3, [&] { world.Pause(1); });
    world.RunUntil(1000);
    ASSERT_TRUE(world.ended() && world.status().ok()) << sync;
    ExpectSameAsInSequence(world, 60);
  }
}

TEST(OwnUpdates, NobodyWaitsForEverWhoeverDiesJoinsOrPauses) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed, Stream::kTest, 2);
    const auto workers = static_cast<uint32_t>(1 + random.Below(5));
    const uint64_t bound = random.Below(4);
    const std::string sync = random.Chance(0.2)   ? "asp"
                             : random.Chance(0.2) ? "r2sp"
                             : random.Chance(0.5) ? fmt::format("ssp:{}", bound)
                                                  : fmt::format("dssp:{},{}", bound, bound + 3);
    SchedulerOptions options = Options(workers, sync, 60);
    options.start_timeout = std::chrono::seconds(10);
    World world(options, Speeds(workers, random), seed);
    double all_there = 0;
    for (WorkerId id = 0; id < workers; ++id) {
      world.At(5 * random.NextDouble() * random.NextDouble(), [&world, id] { world.Birth(id); });
      for (uint64_t faults = random.Below(5); faults > 0; --faults) {
        const double at = 10 * random.NextDouble();
        const double until = at + 5 * random.NextDouble();
        all_there = std::max(all_there, until);
        if (random.Chance(0.5)) {
          world.At(at, [&world, id] { world.Death(id); });
          world.At(until, [&world, id] { world.Birth(id); });
        } else {
          world.At(at, [&world, id] { world.Pause(id); });
          if (random.Chance(0.7)) world.At(until, [&world, id] { world.Resume(id); });
        }
      }
      // One worker stays, so the others need not.
      if (id == 0) world.At(16, [&world] { world.Birth(0); });
    }
    world.RunUntil(3000);
    ASSERT_TRUE(world.ended()) << "seed " << seed << ", " << sync << ": " << world.applied().size();
    ASSERT_TRUE(world.status().ok()) << "seed " << seed << ": " << world.status().ToString();
    ExpectSameAsInSequence(world, 60);
  }
}

TEST(OwnUpdates, ACodeIsRefused) {
  SchedulerOptions options = Options(3, "asp", 10);
  options.code = "cyclic";
  EXPECT_EQ(JobScheduler::Make(options).code(), StatusCode::kInvalidArgument);
}

TEST(SyncMode, IsReadAndNamed) {
  for (const char* text : {"bsp", "backup:2", "asp", "dana", "r2sp", "ssp:0", "ssp:17", "dssp:1,4",
                           "dssp:2,2", "local:1", "local:40", "local:2,1", "local:40,39"}) {
    const auto mode = ParseSyncMode(text);
    ASSERT_TRUE(mode.ok()) << text;
    EXPECT_EQ(NameOf(*mode), text);
  }
  for (const char* text : {"", "ssp", "ssp:", "ssp:-1", "ssp:2x", "local:", "BSP", "dssp:2",
                           "dssp:4,1", "dssp:1,4x", "dssp:1,", "backup", "ssp:1,4", "dana:1",
                           "local:2,2", "local:2,3", "local:0,0", "local:4,", "local:4,1,1"}) {
    EXPECT_EQ(ParseSyncMode(text).code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(NameOf(*ParseSyncMode("local:4,0")), "local:4");
}

// One update is being applied when the last worker is lost, and the other one is open.
TEST(OwnUpdates, EndIfNobodyComesBackWhileOneIsApplied) {
  const auto made = JobScheduler::Make(Options(2, "asp", 10));
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  JobScheduler& scheduler = **made;
  std::vector<Command> commands;
  Time now{};
  const auto send = [&](const Event& event) { scheduler.OnEvent(event, now, commands); };
  send(Tick{});
  for (const WorkerId id : {0, 1}) send(WorkerJoined{id, 1});
  for (const WorkerId id : {0, 1}) send(WorkerFree{id, 0, {}, 100});
  send(RowArrived{0, 0, 0});
  send(StepDecodable{0});
  const auto count = [&](auto kind) {
    return std::count_if(commands.begin(), commands.end(), [kind](const Command& command) {
      return std::holds_alternative<decltype(kind)>(command);
    });
  };
  ASSERT_EQ(count(CommitStep()), 1);
  for (const WorkerId id : {0, 1}) send(WorkerLost{id, Status::Unavailable("killed")});
  send(StepApplied{0});
  now += SchedulerOptions().return_timeout + FromSeconds(1);
  send(Tick{});
  EXPECT_EQ(count(EndJob()), 1) << "nobody came back";
}

}  // namespace
}  // namespace motley
