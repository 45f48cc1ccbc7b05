// SPDX-License-Identifier: Apache-2.0
#include "profiles/ideal_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

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
constexpr ServerRates kWide = {.in = 1e9, .out = 1e9};

TEST(IdealStep, IsTheBatchOverTheSpeedWhereLinksCostNothing) {
  EXPECT_NEAR(IdealStepSeconds({Worker(10), Worker(30)}, {}, kBytes, 80), 2, 1e-6);
  EXPECT_EQ(IdealStepSeconds({}, {}, kBytes, 80), 0);
}

TEST(IdealStep, AWorkerAloneNeedsNoLink) {
  EXPECT_NEAR(IdealStepSeconds({Worker(10, 1, 100)}, {}, kBytes, 20), 2, 1e-6);
}

TEST(IdealStep, AllWorkersButOneExchangeAVector) {
  // Each link takes 2 s of latencies and 1 s for a vector, both ways at once. One worker computes
  // for 5 s, and the other for 2 s.
  EXPECT_NEAR(IdealStepSeconds({Worker(10, 1, 100), Worker(10, 1, 100)}, kWide, kBytes, 70), 5,
              1e-6);
  // The owner is the worker whose link would cost more work.
  EXPECT_NEAR(IdealStepSeconds({Worker(30, 1, 100), Worker(10, 1, 100)}, kWide, kBytes, 170), 5,
              1e-6);
  EXPECT_NEAR(IdealStepSeconds({Worker(30), Worker(10, 1, 100)}, kWide, kBytes, 200), 5, 1e-6);
  // The slower direction counts.
  WorkerProfile uneven = Worker(10, 0, 50);
  uneven.link.down = LinkDirection{.bytes_per_second = 25};
  EXPECT_NEAR(IdealStepSeconds({uneven, uneven}, kWide, kBytes, 60), 5, 1e-6);
}

TEST(IdealStep, LinksOfAllNodesLimitHowManyTakePart) {
  // Twenty workers whose links carry a vector in 1 s. In little more than 1 s all links together
  // carry 20 vectors each way, so at most 11 workers exchange their vectors.
  const std::vector<WorkerProfile> workers(20, Worker(1, 0, 100));
  EXPECT_NEAR(IdealStepSeconds(workers, {.in = 1, .out = 1}, kBytes, 1.05), 11.05 / 11, 1e-6);
  EXPECT_NEAR(IdealStepSeconds(workers, kWide, kBytes, 1.05), 20.05 / 20, 1e-6);
}

TEST(IdealStep, AnswersInPartsMayBeWorthTheirWork) {
  WorkerProfile worker = Worker(1, 0, 25);
  worker.link.down = LinkDirection{.bytes_per_second = 100};
  const std::vector<WorkerProfile> workers(8, worker);
  // Halves take 2 s on the way up, and all workers together compute 10 samples for 5.
  EXPECT_NEAR(IdealStepSeconds(workers, kWide, kBytes, 5), 3, 1e-6);
}

// The time in which these workers compute all samples, if they own these parts of the vector.
double SecondsWith(const std::vector<WorkerProfile>& workers, const std::vector<double>& owned,
                   double samples) {
  double low = 0, high = 1e6;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    double done = 0;
    for (size_t w = 0; w < workers.size(); ++w) {
      const LinkProfile& link = workers[w].link;
      const double rate = std::min(link.Up().bytes_per_second, link.Down().bytes_per_second);
      const double latency = link.Up().latency_seconds + link.Down().latency_seconds;
      const double exchange = (owned[w] < 1 ? latency : 0) + (1 - owned[w]) * kBytes / rate;
      done += workers[w].device.samples_per_second * std::max(0.0, middle - exchange);
    }
    (done >= samples ? high : low) = middle;
  }
  return high;
}

TEST(IdealStep, NoDivisionTakesLess) {
  Random random(1, Stream::kTest);
  for (int i = 0; i < 300; ++i) {
    std::vector<WorkerProfile> workers(1 + random.Below(6));
    for (WorkerProfile& worker : workers) {
      worker = Worker(std::exp(3 * random.NextDouble()), random.NextDouble() / 10,
                      kBytes * std::exp(4 * random.NextDouble() - 2));
      worker.link.down = LinkDirection{random.NextDouble() / 10, 0};
      worker.link.down->bytes_per_second =
          worker.link.bytes_per_second * (0.1 + 0.9 * random.NextDouble());
    }
    const double samples = 50 * random.NextDouble();
    const double ideal = IdealStepSeconds(workers, kWide, kBytes, samples);
    double best = 1e6;
    for (size_t owner = 0; owner < workers.size(); ++owner) {
      std::vector<double> owned(workers.size(), 0);
      owned[owner] = 1;
      best = std::min(best, SecondsWith(workers, owned, samples));
    }
    EXPECT_NEAR(ideal, best, 1e-6 * best) << i;
    for (int draw = 0; draw < 20; ++draw) {
      std::vector<double> owned(workers.size());
      double sum = 0;
      for (double& part : owned) sum += part = random.NextDouble();
      for (double& part : owned) part /= sum;
      EXPECT_GE(SecondsWith(workers, owned, samples), ideal * (1 - 1e-6)) << i;
    }
  }
}

}  // namespace
}  // namespace motley
