// SPDX-License-Identifier: Apache-2.0
#include "reproduce/table_schemes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reproduce/equal_workers.h"

namespace motley {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

Slowdowns OneSlow(size_t worker, double factor) {
  Slowdowns slowdowns(TableSpeeds().size(), 1);
  slowdowns[worker] = factor;
  return slowdowns;
}

std::vector<double> Exactly(const Slowdowns& slowdowns) {
  std::vector<double> seconds = SecondsOfAll();
  for (size_t i = 0; i < seconds.size(); ++i) seconds[i] *= slowdowns[i];
  return seconds;
}

TEST(FaultCases, BefallEveryWorkerAndEveryPair) {
  std::vector<size_t> places;
  for (const FaultCase& fault : FaultCases()) places.push_back(fault.places.size());
  EXPECT_EQ(places, (std::vector<size_t>{1, 8, 8, 8, 28}));
}

TEST(Oracle, IsWorkOverSpeed) {
  EXPECT_DOUBLE_EQ(Oracle(OneSlow(0, 1)), 1);
  EXPECT_DOUBLE_EQ(Oracle(OneSlow(7, kNever)), 48.0 / 36);
  EXPECT_DOUBLE_EQ(Oracle(OneSlow(4, 2)), 48.0 / 44);
}

// The speeds 12, 8, 8, 8, 4, 4, 2, 2 of 48 lose 1, 2, ... times 0.01.
TEST(Oracle, OfOnePortLosesTheSlots) {
  EXPECT_DOUBLE_EQ(SinglePortOracle(OneSlow(0, 1), 0.01), 1 + 158.0 / 48 * 0.01);
  // On a very slow link the fastest worker does all the work.
  EXPECT_DOUBLE_EQ(SinglePortOracle(OneSlow(0, 1), 100), 4 + 100);
}

// Latency of a message; every worker sends one.
constexpr double kMessage = 0.01;

TEST(TableScheme, TakesTheTimesOfItsLoads) {
  struct Expected {
    const char* name;
    uint32_t copies;
    double undisturbed, dead;  // The fastest worker is dead.
  };
  Random random(1, Stream::kTest);
  for (const Expected& expected : std::vector<Expected>{{"none", 1, 1, kNever},
                                                        {"repetition", 2, 2, 2},
                                                        {"cyclic", 2, 6, 6},
                                                        {"heterogeneous", 2, 2, 2},
                                                        {"heterogeneous", 3, 3, 3},
                                                        {"rs", 2, 6, 6},
                                                        {"group", 2, 2, 2}}) {
    SCOPED_TRACE(expected.name);
    const auto scheme = MakeTableScheme(expected.name, {.copies = expected.copies});
    ASSERT_TRUE(scheme.ok()) << scheme.status().ToString();
    EXPECT_NEAR(scheme->step(Exactly(OneSlow(0, 1)), random), expected.undisturbed + kMessage,
                1e-9);
    const double dead = scheme->step(Exactly(OneSlow(7, kNever)), random);
    if (std::isinf(expected.dead)) {
      EXPECT_TRUE(std::isinf(dead));
    } else {
      EXPECT_NEAR(dead, expected.dead + kMessage, 1e-9);
    }
  }
}

TEST(TableScheme, UnknownNameIsAnError) {
  EXPECT_EQ(MakeTableScheme("adaptiv", {}).code(), StatusCode::kNotFound);
}

TEST(TableScheme, LeasesStayBetweenTheOracleAndWaiting) {
  const auto scheme = MakeTableScheme("adaptive", {.partitions = 480});
  ASSERT_TRUE(scheme.ok()) << scheme.status().ToString();
  Random random(1, Stream::kTest);
  for (const FaultCase& fault : FaultCases()) {
    if (fault.name == "slow5x2") continue;
    for (const Slowdowns& place : fault.places) {
      const double took = scheme->step(Exactly(place), random);
      EXPECT_GE(took, Oracle(place)) << fault.name;
      EXPECT_LE(took, 1.5) << fault.name;
    }
  }
}

TEST(EqualWorkersStep, SharesTheWorkOfTheSlow) {
  const auto step = EqualWorkersStep::Make({.workers = 10, .copies = 3, .pieces = 20});
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  EXPECT_NEAR(step->Run(std::vector<double>(10, 1)).seconds, 1, 1e-9);
  std::vector<double> seconds(10, 1);
  seconds[3] = 10;
  const StepOutcome outcome = step->Run(seconds);
  EXPECT_GE(outcome.seconds, 10 / 9.1);
  EXPECT_LE(outcome.seconds, 1.6);
  EXPECT_GE(outcome.vectors, 10U);
}

}  // namespace
}  // namespace motley
