// SPDX-License-Identifier: Apache-2.0
#include "reproduce/round_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace motley {
namespace {

// Times of 4 workers per round, the same for every load.
WorkerTrace Trace(const std::vector<std::vector<double>>& rounds) {
  WorkerTrace trace;
  trace.rounds = static_cast<uint32_t>(rounds.size());
  trace.workers = static_cast<uint32_t>(rounds.front().size());
  trace.loads = {0};
  for (const auto& round : rounds) {
    trace.seconds.insert(trace.seconds.end(), round.begin(), round.end());
  }
  return trace;
}

TEST(RoundRules, UncodedWaitsForTheSlowest) {
  const auto taken = RunUncoded(Trace({{1, 2, 3, 9}, {1, 1, 1, 1}, {7, 7, 7, 7}}), 2);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->seconds, 10);
}

TEST(RoundRules, QuorumLeavesTheSlowestOut) {
  const auto taken = RunQuorum(Trace({{1, 2, 3, 9}, {4, 1, 1, 5}}), 2, 1);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->seconds, 7);
}

TEST(RoundRules, GradientCodeEndsAtTwiceTheFastest) {
  // Round 1: one is late, 2 s. Round 2: two are late, and it waits 9 s. Round 3: all answer before
  // the rule's time, 1.5 s.
  const auto taken =
      RunGradientCode(Trace({{1, 1, 1, 9}, {1, 1, 8, 9}, {1, 1, 1.5, 1}}), 3, 1, 1.0);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->seconds, 2 + 9 + 1.5);
  EXPECT_EQ(taken->waits, 1U);
}

// Two of four are late in the first round, so s = ceil(1 * 2 / 2) = 1 of their tasks is repeated.
TEST(RoundRules, SelectiveRepeatMendsTheRoundBefore) {
  const auto trace = Trace({{1, 1, 9, 9}, {1, 1, 1, 1}, {1, 1, 1, 1}});
  const auto taken = RunSelectiveRepeat(trace, 2, {1, 2, 2}, 1.0);
  ASSERT_TRUE(taken.ok()) << taken.status().ToString();
  // Job 1 has one result less because of the repetition, which s = 1 tolerates: round 3 has no
  // wait.
  EXPECT_EQ(taken->seconds, 2 + 1);
  EXPECT_EQ(taken->waits, 0U);
  // The round must wait for a worker that is late again in the round of its repetition.
  const auto again =
      RunSelectiveRepeat(Trace({{1, 1, 9, 9}, {1, 1, 1, 8}, {1, 1, 1, 1}}), 2, {1, 2, 2}, 1.0);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->seconds, 2 + 8);
  EXPECT_EQ(again->waits, 1U);
}

TEST(RoundRules, MultiplexedNeedsEveryPlainTask) {
  const auto taken =
      RunMultiplexed(Trace({{1, 1, 1, 9}, {1, 1, 1, 1}, {1, 1, 1, 9}}), 2, {1, 2, 1}, 1.0);
  ASSERT_TRUE(taken.ok()) << taken.status().ToString();
  EXPECT_EQ(taken->seconds, 2 + 1 + 2);
  // A worker is late twice in a row, so the second round waits for all workers.
  const auto twice =
      RunMultiplexed(Trace({{1, 1, 1, 9}, {1, 1, 1, 9}, {1, 1, 1, 1}}), 2, {1, 2, 1}, 1.0);
  ASSERT_TRUE(twice.ok());
  EXPECT_EQ(twice->seconds, 2 + 9 + 1);
}

TEST(RoundRules, DelayNeedsRoundsOfItsOwn) {
  const auto taken = RunMultiplexed(Trace({{1, 1, 1, 1}, {1, 1, 1, 1}}), 2, {1, 2, 1}, 1.0);
  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(taken.status().ToString(), testing::HasSubstr("3 rounds"));
}

// The rules promise that every job is decoded in time, for any pattern of late workers and any
// model.
TEST(RoundRules, EveryJobIsDecodedWhateverTheTimes) {
  Random random(1, Stream::kTest, 5);
  for (int attempt = 0; attempt < 300; ++attempt) {
    const uint32_t n = 4 + static_cast<uint32_t>(random.Below(9));
    const uint32_t burst = 1 + static_cast<uint32_t>(random.Below(3));
    const uint32_t more = 1 + static_cast<uint32_t>(random.Below(3));
    const uint32_t lambda = 1 + static_cast<uint32_t>(random.Below(n - 1));
    std::vector<std::vector<double>> rounds(30, std::vector<double>(n));
    for (auto& round : rounds) {
      for (double& seconds : round) seconds = random.Chance(0.2) ? 5 : 1 + random.NextDouble() / 2;
    }
    const WorkerTrace trace = Trace(rounds);
    const BurstModel repeat{burst, burst * more + 1, lambda};
    const auto repeated = RunSelectiveRepeat(trace, 20, repeat, 1.0);
    EXPECT_TRUE(repeated.ok()) << repeated.status().ToString() << " attempt " << attempt;
    const BurstModel multiplex{burst, burst + more, lambda};
    const auto multiplexed = RunMultiplexed(trace, 20, multiplex, 1.0);
    EXPECT_TRUE(multiplexed.ok()) << multiplexed.status().ToString() << " attempt " << attempt;
  }
}

}  // namespace
}  // namespace motley
