// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/adaptive_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include "base/random.h"
#include "planner/step_model.h"
#include "scheduler/placement/load_balance.h"
#include "tests/scheduler/placement/random_shares.h"
#include "tests/scheduler/step/lease_checker.h"

namespace motley {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Workers with these speeds (partitions per second), balanced shares, and backups in proportion.
StepSetting Cluster(const std::vector<double>& speeds, uint32_t partitions, uint32_t copies,
                    double latency, double message = 0) {
  ShareRequest request;
  request.partitions = partitions;
  request.copies = copies;
  StepSetting setting;
  for (const double speed : speeds) {
    ShareWorker worker;
    worker.curve.seconds_per_sample = 1 / speed;
    request.workers.push_back(worker);
    setting.workers.push_back({1 / speed, 0, latency, message, true});
  }
  Result<Placement> placement = PlaceBalanced(request);
  EXPECT_TRUE(placement.ok()) << placement.status().ToString();
  if (placement.ok()) setting.holders = placement->holders;
  return setting;
}

struct CheckedRun {
  StepOutcome outcome;
  std::vector<std::string> violations;
};

CheckedRun RunChecked(const StepSetting& setting, const StepModelOptions& options) {
  AdaptiveStep policy(setting);
  LeaseChecker checker(setting, policy);
  CheckedRun run;
  run.outcome = RunStepModel(setting, checker, options);
  run.violations = checker.violations();
  return run;
}

// The cluster of Wang et al. (ICDCS 2019); a step of ideal work takes one second.
const std::vector<double> kLab = {40, 40, 80, 80, 160, 160, 160, 240};
constexpr uint32_t kPartitions = 960;

// The mean step time if one worker is slowed down or dead, over all choices of this worker and
// draws of 4 % noise on the speeds.
double MeanWith(double slowdown, double message, double& worst_ratio, double& most_vectors) {
  const StepSetting setting = Cluster(kLab, kPartitions, 2, 0.01, message);
  double total = 0;
  int runs = 0;
  worst_ratio = most_vectors = 0;
  for (WorkerId slow = 0; slow < kLab.size(); ++slow) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      Random random(seed, Stream::kTest);
      StepModelOptions options;
      options.truth.resize(kLab.size());
      options.notice_seconds = 0.02;
      double rate = 0;
      for (WorkerId w = 0; w < kLab.size(); ++w) {
        ModelWorker& truth = options.truth[w];
        truth.slowdown = 1 + 0.04 * random.Normal();
        if (w == slow && slowdown == kInfinity) {
          truth.dies_at = 0;
          continue;
        }
        if (w == slow) truth.slowdown *= slowdown;
        rate += kLab[w] / truth.slowdown;
      }
      const CheckedRun run = RunChecked(setting, options);
      EXPECT_THAT(run.violations, testing::IsEmpty());
      total += run.outcome.seconds;
      worst_ratio = std::max(worst_ratio, run.outcome.seconds * rate / kPartitions);
      most_vectors = std::max(most_vectors, 1.0 * run.outcome.most_vectors);
      ++runs;
    }
  }
  return total / runs;
}

struct Case {
  double slowdown;
  double mean;
};

class AdaptiveLab : public testing::TestWithParam<Case> {};

TEST_P(AdaptiveLab, StaysNearTheFluidLimit) {
  double ratio = 0, vectors = 0;
  EXPECT_LE(MeanWith(GetParam().slowdown, 0, ratio, vectors), GetParam().mean);
  EXPECT_LE(ratio, 1.10);
  EXPECT_LE(vectors, 2);
}

INSTANTIATE_TEST_SUITE_P(Faults, AdaptiveLab,
                         testing::Values(Case{1, 1.04}, Case{2, 1.10}, Case{5, 1.16},
                                         Case{kInfinity, 1.19}));

TEST(AdaptiveStep, VectorsThatShareTheLinkComeOneAfterTheOther) {
  double ratio = 0, vectors = 0;
  // The optimum for divisible load on a single port is 1.033: the sum of speed times slot, with the
  // slowest worker first.
  EXPECT_LE(MeanWith(1, 0.01, ratio, vectors), 1.033 * 1.04);
  EXPECT_EQ(vectors, 1);
}

TEST(AdaptiveStep, DeathAtAnyMomentCostsLittleMoreThanWhatItDid) {
  const StepSetting setting = Cluster(kLab, kPartitions, 2, 0.01);
  double total = 0, worst = 0;
  constexpr int kRuns = 60;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    Random random(seed, Stream::kTest);
    StepModelOptions options;
    options.truth.resize(kLab.size());
    options.jitter = 0.05;
    options.notice_seconds = 0.02;
    options.seed = seed;
    options.truth[seed % kLab.size()].dies_at = random.NextDouble();
    const CheckedRun run = RunChecked(setting, options);
    EXPECT_THAT(run.violations, testing::IsEmpty());
    total += run.outcome.seconds;
    worst = std::max(worst, run.outcome.seconds);
  }
  EXPECT_LE(total / kRuns, 1.25);
  EXPECT_LE(worst, 1.45);
}

// The mean step time on kLab when one worker becomes five times slower. That is never the last
// worker, to which `change` is applied.
double MeanWithChanged(const std::function<void(StepWorker&)>& change) {
  double total = 0;
  const auto last = static_cast<WorkerId>(kLab.size() - 1);
  for (WorkerId slow = 0; slow < last; ++slow) {
    StepSetting setting = Cluster(kLab, kPartitions, 2, 0.001);
    change(setting.workers[last]);
    StepModelOptions options;
    options.truth.resize(kLab.size());
    options.truth[slow].slowdown = 5;
    const CheckedRun run = RunChecked(setting, options);
    EXPECT_THAT(run.violations, testing::IsEmpty());
    total += run.outcome.seconds;
  }
  return total / last;
}

TEST(AdaptiveStep, OneThatIsFarAwayKeepsNobodyFromHelpingOthers) {
  const double without = MeanWithChanged([](StepWorker& last) { last.live = false; });
  for (const double latency : {3.0, 20.0}) {
    const auto far = [&](StepWorker& last) { last.latency_seconds = latency; };
    EXPECT_LE(MeanWithChanged(far), 1.1 * without) << latency;
  }
}

// A worker that waits for its data gets no work that others would have done long before.
TEST(AdaptiveStep, OneWhoseDataAreOnTheirWayKeepsNobodyFromHelpingOthers) {
  const double without = MeanWithChanged([](StepWorker& last) { last.live = false; });
  for (const double seconds : {3.0, 20.0}) {
    const auto waits = [&](StepWorker& last) { last.data_seconds = seconds; };
    EXPECT_LE(MeanWithChanged(waits), 1.02 * without) << seconds;
  }
}

// A worker reads requests only after its data, so work that it was given cannot be taken back.
TEST(AdaptiveStep, NothingIsGivenToOneWhoseDataComeTooLate) {
  StepSetting setting;
  for (int w = 0; w < 3; ++w) setting.workers.push_back({0.1, 0, 0.001, 0, true});
  setting.workers[2].data_seconds = 100;
  for (PartitionId p = 0; p < 20; ++p) setting.holders.push_back({p % 2, 2, 1 - p % 2});
  AdaptiveStep policy(setting);
  std::vector<StepCommand> said;
  policy.Begin(said);
  for (uint32_t done = 1; done < 5; ++done) {
    policy.OnEvent(ListProgress{0, done, 0.1 * done}, 0.1 * done, said);
    policy.OnEvent(ListProgress{1, done, 0.1 * done}, 0.1 * done, said);
    policy.OnEvent(StepTick{}, 0.1 * done + 0.05, said);
  }
  const auto asks = [](const StepCommand& command) {
    return std::holds_alternative<RevokeList>(command);
  };
  EXPECT_TRUE(std::none_of(said.begin(), said.end(), asks)) << "the first two workers are on time";
  policy.OnEvent(StepWorkerLost{1}, 0.5, said);
  policy.OnEvent(StepTick{}, 0.6, said);
  EXPECT_EQ(policy.Owes(0), 20U);
  EXPECT_EQ(policy.Owes(2), 0U);
}

TEST(AdaptiveStep, OneWhoseDataComeInAMomentHelps) {
  const double with = MeanWithChanged([](StepWorker&) {});
  const double without = MeanWithChanged([](StepWorker& last) { last.live = false; });
  const double soon = MeanWithChanged([](StepWorker& last) { last.data_seconds = 0.5; });
  EXPECT_GT(soon, with);
  EXPECT_LT(soon, (with + without) / 2);
}

// The mean time of steps on kLab in which workers begin later than the policy believes, by up to
// half of the latency. Draws have 4 % noise on the speeds.
double MeanOfLateSteps(uint32_t copies, double latency) {
  const StepSetting believed = Cluster(kLab, kPartitions, copies, latency);
  double total = 0;
  constexpr int kRuns = 40;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    Random random(seed, Stream::kTest, 2);
    StepSetting setting = believed;
    StepModelOptions options;
    options.truth.resize(kLab.size());
    for (WorkerId w = 0; w < kLab.size(); ++w) {
      setting.workers[w].overhead_seconds = latency * random.NextDouble() / 2;
      options.truth[w].slowdown = 1 + 0.04 * random.Normal();
    }
    AdaptiveStep policy(believed);
    LeaseChecker checker(setting, policy);
    total += RunStepModel(setting, checker, options).seconds;
    EXPECT_THAT(checker.violations(), testing::IsEmpty());
  }
  return total / kRuns;
}

// The policy must not move work away from workers that only began late. Without copies it cannot
// move any, so that is the reference.
TEST(AdaptiveStep, WhoBeginsLateIsNotTakenForSlow) {
  for (const double latency : {0.2, 0.5, 0.7, 1.0, 2.0}) {
    EXPECT_LE(MeanOfLateSteps(2, latency), 1.02 * MeanOfLateSteps(1, latency)) << latency;
  }
}

// For any cluster, any belief about it and any faults: leases never overlap, every partition counts
// once, and the step ends if each partition has a live holder.
TEST(AdaptiveStep, IsExactOnAnyClusterAndEnds) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed, Stream::kTest, 1);
    const auto n = static_cast<uint32_t>(2 + random.Below(12));
    std::vector<double> speeds(n);
    for (double& speed : speeds) speed = std::exp(3 * random.NextDouble());
    const auto copies = static_cast<uint32_t>(1 + random.Below(std::min(n, 3u)));
    const double latency = 0.3 * std::exp(-8 * random.NextDouble());
    const auto partitions = static_cast<uint32_t>(n * (1 + random.Below(24)));
    const StepSetting setting =
        Cluster(speeds, partitions, copies, latency, random.Chance(0.5) ? 0.01 : 0);
    StepModelOptions options;
    options.truth.resize(n);
    options.jitter = random.Chance(0.5) ? 0.2 : 0;
    options.seed = seed;
    options.notice_seconds = 0.02;
    for (ModelWorker& truth : options.truth) truth.slowdown = std::exp(3.2 * random.Normal() / 2);
    for (uint32_t dead = 0; dead + 1 < copies; ++dead) {
      options.truth[random.Below(n)].dies_at = 2 * random.NextDouble();
    }
    const CheckedRun run = RunChecked(setting, options);
    EXPECT_THAT(run.violations, testing::IsEmpty()) << "seed " << seed;
    EXPECT_LT(run.outcome.seconds, kInfinity) << "seed " << seed;
  }
}

// Two fast workers have one partition each, and a slow one has five. The second fast worker hangs,
// and is lost when the first one has been idle for long.
TEST(AdaptiveStep, AWorkerThatIdlesIsNotTakenForSlow) {
  StepSetting setting;
  for (const double seconds : {0.1, 1.0, 0.1})
    setting.workers.push_back({seconds, 0, 0.01, 0, true});
  setting.holders = {{0}, {1}, {1}, {1}, {1}, {1}, {2, 0, 1}};
  StepModelOptions options;
  options.truth.resize(3);
  options.truth[2] = {1000, 4.85};
  options.notice_seconds = 0.02;
  const CheckedRun run = RunChecked(setting, options);
  EXPECT_THAT(run.violations, testing::IsEmpty());
  EXPECT_LT(run.outcome.seconds, 5.1);
}

TEST(AdaptiveStep, WithoutAHolderTheStepDoesNotEnd) {
  const StepSetting setting = Cluster({1, 1}, 8, 1, 0.01);
  StepModelOptions options;
  options.truth.resize(2);
  options.truth[1].dies_at = 1;
  EXPECT_EQ(RunChecked(setting, options).outcome.seconds, kInfinity);
}

// --- Joining, losses and copies ---

// Drives a policy by hand and records its commands.
class ByHand : public testing::Test {
 protected:
  // Three workers that take 0.1 s per partition. The last one is absent.
  ByHand() {
    StepSetting setting;
    for (int w = 0; w < 3; ++w) setting.workers.push_back({0.1, 0, 0.001, 0, w < 2});
    setting.holders = {{0}, {0}, {0, 1}, {1}, {1, 2}, {2}};
    policy_ = std::make_unique<AdaptiveStep>(setting);
    policy_->Begin(said_);
  }
  void Tell(const StepEvent& event, double now) { policy_->OnEvent(event, now, said_); }
  // Partitions that were leased to the worker since the last call.
  std::vector<PartitionId> Leased(WorkerId worker) {
    std::vector<PartitionId> leased;
    for (const StepCommand& command : said_) {
      const auto* extend = std::get_if<ExtendList>(&command);
      if (extend == nullptr || extend->worker != worker) continue;
      leased.insert(leased.end(), extend->partitions.begin(), extend->partitions.end());
    }
    std::erase_if(said_, [worker](const StepCommand& command) {
      const auto* extend = std::get_if<ExtendList>(&command);
      return extend != nullptr && extend->worker == worker;
    });
    std::sort(leased.begin(), leased.end());
    return leased;
  }
  std::unique_ptr<AdaptiveStep> policy_;
  std::vector<StepCommand> said_;
};

TEST_F(ByHand, WhoJoinsGetsWhatOnlyItHolds) {
  EXPECT_THAT(Leased(0), testing::IsSupersetOf({0, 1}));
  EXPECT_THAT(Leased(2), testing::IsEmpty());
  EXPECT_THAT(policy_->orphans(), testing::ElementsAre(5));
  policy_->Join(2, {0.1, 0, 0.001, 0, true}, 0.05, said_);
  EXPECT_THAT(Leased(2), testing::Contains(5));
  EXPECT_THAT(policy_->orphans(), testing::IsEmpty());
  EXPECT_EQ(policy_->Owes(2), 1U);
  EXPECT_EQ(policy_->Uncomputed(2), 1U);
  // Joining a second time changes nothing.
  said_.clear();
  policy_->Join(2, {0.1, 0, 0.001, 0, true}, 0.06, said_);
  EXPECT_THAT(Leased(2), testing::IsEmpty());
}

TEST_F(ByHand, WhoJoinsLateIsGivenWhatOthersHaveNotBegun) {
  const std::vector<PartitionId> first = Leased(1);
  policy_->Join(2, {0.01, 0, 0.001, 0, true}, 0.02, said_);
  Tell(ListProgress{1, 0}, 0.021);
  // Both hold partition 4. Its owner is asked to give it back, and its answer moves it.
  ASSERT_THAT(first, testing::Contains(4));
  const auto asked = std::find_if(said_.begin(), said_.end(), [](const StepCommand& command) {
    const auto* revoke = std::get_if<RevokeList>(&command);
    return revoke != nullptr && revoke->worker == 1;
  });
  ASSERT_NE(asked, said_.end());
  EXPECT_THAT(std::get<RevokeList>(*asked).partitions, testing::ElementsAre(4));
  Leased(2);
  Tell(ListReleased{1, {4}}, 0.023);
  EXPECT_THAT(Leased(2), testing::ElementsAre(4));
}

// A worker is asked to give back partitions that it has just sent, becomes silent and is given up.
// The worker that was to get them must not wait for them, and must be asked to send its own vector.
TEST_F(ByHand, NobodyWaitsForWhatTheLostWasAskedForAndHadSent) {
  const auto entries = static_cast<uint32_t>(Leased(1).size());
  policy_->Join(2, {0.01, 0, 0.001, 0, true}, 0.02, said_);
  const auto own = static_cast<uint32_t>(Leased(2).size());
  ASSERT_GT(own, 0U);
  const auto asked = std::find_if(said_.begin(), said_.end(), [](const StepCommand& command) {
    const auto* revoke = std::get_if<RevokeList>(&command);
    return revoke != nullptr && revoke->worker == 1;
  });
  ASSERT_NE(asked, said_.end());
  Tell(VectorArrived{1, entries}, 0.021);
  Tell(StepWorkerLost{1}, 0.03);
  Tell(ListProgress{2, own}, 0.04);
  Tell(StepTick{}, 0.06);
  EXPECT_TRUE(std::any_of(said_.begin(), said_.end(), [](const StepCommand& command) {
    const auto* send = std::get_if<SendVector>(&command);
    return send != nullptr && send->worker == 2;
  }));
}

TEST_F(ByHand, SomebodyNobodyKnewMayJoin) {
  policy_->Join(7, {0.1, 0, 0.001, 0, true}, 0.01, said_);
  EXPECT_EQ(policy_->Owes(7), 0U);
  EXPECT_EQ(policy_->Owes(5), 0U) << "workers between are absent";
  policy_->AddCopy(5, 7);
  Tell(StepTick{}, 0.02);
  EXPECT_THAT(Leased(7), testing::ElementsAre(5));
}

TEST_F(ByHand, ACopyThatComesTakesWhatNobodyHeld) {
  Leased(0);
  policy_->AddCopy(5, 0);
  EXPECT_THAT(Leased(0), testing::IsEmpty()) << "it is leased with the next event";
  Tell(StepTick{}, 0.02);
  EXPECT_THAT(Leased(0), testing::ElementsAre(5));
}

TEST_F(ByHand, CopiesThatAreGoneAreLeasedToNobody) {
  Leased(0);
  policy_->DropCopies(1);
  Tell(StepWorkerLost{1}, 0.05);
  // Partitions of the lost worker continue only if another worker holds them.
  EXPECT_THAT(Leased(1), testing::Contains(3));  // Leased at the beginning of the step.
  EXPECT_THAT(policy_->orphans(), testing::IsSupersetOf({3, 5}));
  EXPECT_THAT(policy_->orphans(), testing::Not(testing::Contains(2)));
  policy_->Join(1, {0.1, 0, 0.001, 0, true}, 0.06, said_);
  EXPECT_THAT(Leased(1), testing::IsEmpty()) << "it came back without data";
  policy_->AddCopy(3, 1);
  Tell(StepTick{}, 0.07);
  EXPECT_THAT(Leased(1), testing::ElementsAre(3));
}

TEST_F(ByHand, AStepEndsWithWhatWasAddedToIt) {
  Leased(0);
  Leased(1);
  policy_->AddCopy(5, 0);
  policy_->AddCopy(4, 0);
  Tell(StepTick{}, 0.01);
  for (const WorkerId w : {0U, 1U}) {
    const auto owes = static_cast<uint32_t>(policy_->Owes(w));
    ASSERT_GT(owes, 0U);
    Tell(ListProgress{w, owes}, 0.9);
    Tell(VectorArrived{w, owes}, 0.91);
  }
  EXPECT_TRUE(std::holds_alternative<StepEnough>(said_.back()));
}

}  // namespace
}  // namespace motley
