// SPDX-License-Identifier: Apache-2.0
#include "reproduce/monte_carlo.h"

#include <gtest/gtest.h>

#include <atomic>

namespace motley {
namespace {

TEST(MeansOfRuns, AreMeansWithTheirStandardError) {
  const auto parallel = MakeThreadParallelFor(2);
  ReproduceContext context;
  context.parallel = parallel.get();
  std::atomic<uint64_t> calls = 0;
  const auto estimates = MeansOfRuns(context, 1, 10001, 2, [&](Random& random, auto figures) {
    calls += 1;
    EXPECT_EQ(figures[1], 0);
    figures[0] = random.NextDouble();
    figures[1] = 3;
  });
  EXPECT_EQ(calls, 10001U);
  // A uniform random number has variance 1/12.
  EXPECT_NEAR(estimates[0].error, 0.28868 / 100, 1e-4);
  EXPECT_NEAR(estimates[0].mean, 0.5, 5 * estimates[0].error);
  EXPECT_NEAR(estimates[1].mean, 3, 1e-12);
  EXPECT_EQ(estimates[1].most, 3);
  EXPECT_GT(estimates[0].most, 0.99);
  EXPECT_LT(estimates[0].most, 1);
  EXPECT_NEAR(estimates[1].error, 0, 1e-6);
}

TEST(MeansOfRuns, EffortScalesTheRuns) {
  const auto parallel = MakeSerialParallelFor();
  ReproduceContext context;
  context.parallel = parallel.get();
  for (const auto& [effort, expected] : {std::pair{0.5, 500}, {0.0, 2}, {2.0, 2000}}) {
    context.effort = effort;
    int calls = 0;
    MeansOfRuns(context, 1, 1000, 1, [&](Random&, auto) { calls += 1; });
    EXPECT_EQ(calls, expected);
  }
}

TEST(MeansOfRuns, StreamsDiffer) {
  const auto parallel = MakeSerialParallelFor();
  ReproduceContext context;
  context.parallel = parallel.get();
  const auto mean = [&](uint64_t stream) {
    return MeansOfRuns(context, stream, 10, 1,
                       [](Random& random, auto figures) { figures[0] = random.NextDouble(); })[0]
        .mean;
  };
  EXPECT_NE(mean(1), mean(2));
  EXPECT_EQ(mean(1), mean(1));
}

}  // namespace
}  // namespace motley
