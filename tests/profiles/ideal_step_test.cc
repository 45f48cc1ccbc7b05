// SPDX-License-Identifier: Apache-2.0
#include "profiles/ideal_step.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

WorkerProfile Worker(double samples_per_second, double latency = 0, double bytes_per_second = 0) {
  WorkerProfile worker;
  worker.device.samples_per_second = samples_per_second;
  worker.link.latency_seconds = latency;
  worker.link.bytes_per_second = bytes_per_second;
  return worker;
}

constexpr double kBytes = 100;

TEST(IdealStep, IsTheBatchOverTheSpeedWhereLinksCostNothing) {
  EXPECT_NEAR(IdealStepSeconds({Worker(10), Worker(30)}, {}, kBytes, 80), 2, 1e-6);
  EXPECT_EQ(IdealStepSeconds({}, {}, kBytes, 80), 0);
}

TEST(IdealStep, AWorkersOwnLinkLeavesItLessTime) {
  // 1 s and 100 bytes at 100 bytes/s, both ways: 4 s of 6, in which 10 samples/s do 20 of them.
  EXPECT_NEAR(IdealStepSeconds({Worker(10, 1, 100)}, {}, kBytes, 20), 6, 1e-6);
  // Beside it one of 30 samples/s without a link does 120 in 4 s, so the first need not begin.
  EXPECT_NEAR(IdealStepSeconds({Worker(10, 1, 100), Worker(30)}, {}, kBytes, 120), 4, 1e-6);
}

TEST(IdealStep, VectorsPassTheServersLinkOneAfterTheOther) {
  // 0.5 s down and 0.5 s up for each: the fast one computes for T - 1 s, the other for T - 2 s.
  const ServerRates server = {.in = 200, .out = 200};
  EXPECT_NEAR(IdealStepSeconds({Worker(10), Worker(30)}, server, kBytes, 110), 4, 1e-6);
  // In a short step only the fastest takes part.
  EXPECT_NEAR(IdealStepSeconds({Worker(10), Worker(30)}, server, kBytes, 15), 1.5, 1e-6);
}

}  // namespace
}  // namespace motley
