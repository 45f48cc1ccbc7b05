// SPDX-License-Identifier: Apache-2.0
// What measured speeds may change, and what noise and wrong guesses may not.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "tests/scheduler/script.h"

namespace motley {
namespace {

SchedulerOptions Options(uint32_t workers, const std::string& code) {
  SchedulerOptions options;
  options.workers = workers;
  options.partitions = workers * 32;
  options.code = code;
  options.batch = options.partitions;
  options.steps = 10000;
  return options;
}

// Learned speeds vary by a third of this: by 6.7 %.
constexpr double kNoise = 0.2;

std::vector<double> Noisy(double speed, size_t count, Random& random) {
  std::vector<double> speeds;
  for (size_t i = 0; i < count; ++i) {
    const double factor = 1 + kNoise * random.Normal();
    speeds.push_back(speed / std::clamp(factor, 0.5, 1.5));
  }
  return speeds;
}

TEST(CodedSpeeds, NoiseHardlyEverMovesData) {
  for (const char* code : {"none", "repetition", "heterogeneous"}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      Random random(seed, Stream::kTest);
      Script script(Options(8, code));
      script.Start(std::vector<double>(8, 100));
      for (int step = 0; step < 300; ++step) script.WholeStep(Noisy(100, 8, random));
      EXPECT_EQ(script.Stats().steps_committed, 300u);
      EXPECT_LE(script.Stats().replans, 5u) << code << ", seed " << seed;
    }
  }
}

TEST(CodedSpeeds, AGuessFarTooHighDoesNotStretchDeadlines) {
  Script script(Options(8, "none"));
  script.Start(std::vector<double>(8, 50000));
  for (int step = 0; step < 12; ++step) {
    script.WholeStep(std::vector<double>(8, 50));
    if (step < 2) continue;  // The first steps still go by the guess.
    EXPECT_LE(script.SecondsToDeadline(), 3.0) << "it takes 0.64 s, step " << step;
  }
}

}  // namespace
}  // namespace motley
