// SPDX-License-Identifier: Apache-2.0
// Tests leases of workers whose data are on their way, where sending a partition takes far longer
// than computing it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "scheduler/learned/lease_watch.h"
#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::AllOf;
using ::testing::Contains;

constexpr double kSend = 2;  // Seconds for sending one partition.

SchedulerOptions Options(uint32_t tolerate) {
  SchedulerOptions options;
  options.workers = 3;
  options.partitions = 12;
  options.code = "adaptive";
  options.tolerate = tolerate;
  options.batch = 120;
  options.steps = 200;
  return options;
}

// The number after "extend 1 x", or after another `what`; 0 if there is no such line.
uint32_t CountOf(const Script::Lines& lines, const std::string& what) {
  uint32_t count = 0;
  for (const std::string& line : lines) {
    if (line.starts_with(what))
      count += static_cast<uint32_t>(std::stoul(line.substr(what.size())));
  }
  return count;
}

// Computes the leases of `opening`, at `seconds` per partition and worker. Returns the next
// opening. `said` gets the lines that reports caused.
Script::Lines WorkOff(Script& script, const Script::Lines& opening,
                      const std::vector<double>& seconds, double delay = 0,
                      Script::Lines* said = nullptr) {
  const StepId step = script.step();
  std::map<double, WorkerId> done;  // By time.
  std::vector<uint32_t> entries(seconds.size());
  for (WorkerId w = 0; w < seconds.size(); ++w) {
    entries[w] = CountOf(opening, "extend " + std::to_string(w) + " x");
    if (entries[w] > 0) done[entries[w] * (seconds[w] + delay) + 1e-6 * w] = w;
  }
  double now = 0;
  for (const auto& [at, w] : done) {
    script.Advance(at - now);
    now = at;
    const double compute = entries[w] * seconds[w];
    const Script::Lines lines =
        script.Send(LeaseProgress{w, step, entries[w], FromSeconds(compute)});
    if (said != nullptr) said->insert(said->end(), lines.begin(), lines.end());
    script.Send(LeaseReleased{w, step, {}});  // The worker may have been asked for partitions.
    script.Send(LeaseVector{w, step, entries[w]});
  }
  return script.Send(StepApplied{step});
}

// The first step shows how long data take; some normal steps follow.
Script::Lines Warm(Script& script, const std::vector<double>& seconds) {
  std::vector<double> speeds;
  for (const double each : seconds) speeds.push_back(10 / each);
  Script::Lines opening = WorkOff(script, script.Start(speeds), seconds, kSend);
  for (int i = 0; i < 6; ++i) opening = WorkOff(script, opening, seconds);
  return opening;
}

// A copy takes `kSend` and a half, more than was predicted.
TEST(LeaseData, CopiesFollowAndCountWhenTheOnesBeforeHaveCome) {
  Script script(Options(1));
  const std::vector<double> seconds = {0.1, 0.1, 0.1};
  const Script::Lines opening = Warm(script, seconds);
  ASSERT_EQ(CountOf(opening, "extend 1 x"), 4u);
  // A new incarnation of worker 1; the others work its leases off.
  script.Join(1, 2);
  script.Ready(1, 100);
  Script::Lines next = {"extend 0 x6", "extend 2 x6"};
  std::vector<double> sent, came;  // Times at which copies were sent to it, and came.
  double leased = 0;               // The time of its first lease.
  const Time since = script.now();
  for (int i = 0; i < 16 && leased == 0; ++i) {
    const double before = ToSeconds(script.now() - since);
    if (came.size() < sent.size() && before - sent.back() >= 1.5 * kSend) {
      script.DataCome(1);
      came.push_back(before);
    }
    next = WorkOff(script, next, seconds);
    const double at = ToSeconds(script.now() - since);
    EXPECT_LE(CountOf(next, "place 1 x"), 1u);
    if (CountOf(next, "place 1 x") > 0) sent.push_back(at);
    if (CountOf(next, "extend 1 x") > 0) leased = at;
  }
  ASSERT_GE(sent.size(), 2u);
  ASSERT_GE(came.size() + 1, sent.size());
  for (size_t i = 1; i < sent.size(); ++i) EXPECT_GE(sent[i], came[i - 1]);
  ASSERT_GT(leased, 0);
  EXPECT_GE(leased, came.front()) << "the others, who hold it, could begin at once";
}

// Each partition has two holders, so four are left without one. The copy on its way is one of them
// for one of the two workers that may be lost.
TEST(LeaseData, ACopyOnItsWayIsSentAgainWhenNobodyElseHoldsIt) {
  for (const WorkerId lost : {0, 2}) {
    Script script(Options(1));
    const std::vector<double> seconds = {0.1, 0.1, 0.1};
    Warm(script, seconds);
    script.Join(1, 2);
    script.Ready(1, 100);
    const Script::Lines next = WorkOff(script, {"extend 0 x6", "extend 2 x6"}, seconds);
    ASSERT_EQ(CountOf(next, "place 1 x"), 1u);
    const Script::Lines lines = script.Lost(lost);
    EXPECT_EQ(CountOf(lines, "place 1 x") + CountOf(lines, fmt::format("place {} x", 2 - lost)),
              4u);
  }
}

// Equal shares are planned as if every worker computed a sample in a second.
TEST(LeaseData, CopiesArePacedWithEqualSharesToo) {
  SchedulerOptions options = Options(1);
  options.shares = Shares::kEqual;
  Script script(options);
  const std::vector<double> seconds = {0.1, 0.1, 0.1};
  Warm(script, seconds);
  script.Join(1, 2);
  script.Ready(1, 100);
  Script::Lines next = {"extend 0 x6", "extend 2 x6"};
  for (int i = 0; i < 16; ++i) {
    next = WorkOff(script, next, seconds);
    EXPECT_LE(CountOf(next, "place 1 x"), 1u);
  }
}

TEST(LeaseData, WhatNobodyHoldsAnyMoreIsSentToManyAtATime) {
  Script script(Options(0));
  // Worker 2 computes four times as fast as worker 1, but its data do not arrive faster.
  Warm(script, {0.05, 0.2, 0.05});
  EXPECT_THAT(script.Lost(0), AllOf(Contains("place 1 x3"), Contains("place 2 x3")));
}

TEST(LeaseData, ARoundTripBehindDataIsMeasuredAgainWithoutThem) {
  LeaseHabits habits;
  habits.SawRoundTrip(4, 0, true);
  EXPECT_EQ(habits.latency, 2) << "better than nothing";
  habits.SawRoundTrip(6, 1, true);
  EXPECT_EQ(habits.latency, 2);
  EXPECT_TRUE(habits.behind_data);
  habits.SawRoundTrip(0.02, 2, false);
  EXPECT_EQ(habits.latency, 0.01);
  EXPECT_FALSE(habits.behind_data);
  habits.SawRoundTrip(4, 3, true);
  EXPECT_EQ(habits.latency, 0.01);
  EXPECT_EQ(habits.round_trip_in, 2u);
}

TEST(LeaseData, AVectorBehindDataIsMeasuredAgainWithoutThem) {
  LeaseHabits habits;
  habits.SawVector(4, true);
  EXPECT_EQ(habits.message, 4) << "better than nothing";
  habits.SawVector(6, true);
  EXPECT_EQ(habits.message, 4);
  habits.SawVector(0.5, false);
  EXPECT_EQ(habits.message, 0.5);
  habits.SawVector(4, true);
  EXPECT_EQ(habits.message, 0.5);
}

TEST(LeaseData, RoundTripsAreMeasuredAgainNowAndThen) {
  Script script(Options(1));
  const std::vector<double> seconds = {0.1, 0.1, 0.1};
  Script::Lines opening = Warm(script, seconds);
  std::vector<StepId> asked;
  for (int i = 0; i < 80; ++i) {
    const StepId step = script.step();
    Script::Lines said;
    opening = WorkOff(script, opening, seconds, 0, &said);
    if (std::find(said.begin(), said.end(), "revoke 1 x0") != said.end()) asked.push_back(step);
  }
  ASSERT_GE(asked.size(), 2u);
  EXPECT_LE(asked.size(), 4u);
}

}  // namespace
}  // namespace motley
