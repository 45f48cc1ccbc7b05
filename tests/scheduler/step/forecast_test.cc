// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/forecast.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

constexpr double kEntry = 0.01, kOverhead = 0.1, kLatency = 0.02;

TEST(Forecast, ALateBeginningIsNoSlowness) {
  Forecast forecast(kEntry, kOverhead, kLatency);
  const double begun = kOverhead + 0.05;  // Later than predicted.
  EXPECT_FALSE(forecast.Overdue(begun + kLatency));
  forecast.Report(2, begun + 2 * kEntry, 2 * kEntry);
  EXPECT_DOUBLE_EQ(forecast.Expected(), kEntry);
  EXPECT_DOUBLE_EQ(forecast.DoneAt(12, begun), begun + 12 * kEntry);
}

TEST(Forecast, WithoutTheWorkersOwnTimeTheFirstReportTellsBoth) {
  Forecast forecast(kEntry, kOverhead, kLatency);
  forecast.Report(2, kOverhead + 0.05 + 2 * kEntry);
  EXPECT_GT(forecast.Expected(), 3 * kEntry);
}

TEST(Forecast, SilenceProvesSlownessOnlyOnceTheBeginningIsLongPast) {
  Forecast forecast(kEntry, kOverhead, kLatency);
  const double late = 1.5 * kOverhead + 0.5 * kLatency;
  EXPECT_FALSE(forecast.Overdue(kLatency + late + 1.2 * kEntry));
  EXPECT_TRUE(forecast.Overdue(kLatency + late + 1.3 * kEntry));
  EXPECT_NEAR(forecast.Seconds(kLatency + late + 4 * kEntry), 4 * kEntry, 1e-12);
  // A worker that has reported has begun.
  forecast.Report(1, kOverhead + kEntry, kEntry);
  EXPECT_TRUE(forecast.Overdue(kLatency + kOverhead + 2.3 * kEntry));
}

TEST(Forecast, DataOnTheirWayAreWaitedForOnce) {
  Forecast forecast(kEntry, kOverhead, kLatency);
  forecast.SetData(0.5);
  EXPECT_EQ(forecast.DataDue(), 0.5);
  // Work that arrives meanwhile comes behind the data, and later work does not wait.
  forecast.Start(0.4);
  EXPECT_DOUBLE_EQ(forecast.DoneAt(2, 0.4), 0.5 + kOverhead + 2 * kEntry);
  EXPECT_FALSE(forecast.Overdue(0.5 + kOverhead + kLatency));
  forecast.Start(0.7);
  EXPECT_DOUBLE_EQ(forecast.DoneAt(2, 0.7), 0.7 + kOverhead + 2 * kEntry);
  forecast.Report(1, 0.7 + kOverhead + kEntry);
  EXPECT_NEAR(forecast.Expected(), kEntry, 1e-12);
  EXPECT_EQ(forecast.DataDue(), 0) << "it has begun";
}

}  // namespace
}  // namespace motley
