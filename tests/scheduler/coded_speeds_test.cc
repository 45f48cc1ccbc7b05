// SPDX-License-Identifier: Apache-2.0
// Tests which changes follow from measured speeds, but not from noise and wrong guesses.
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

// Compute times vary by `noise`, and learned speeds by a third of that.
std::vector<double> Noisy(std::vector<double> speeds, double noise, Random& random) {
  for (double& speed : speeds) speed /= std::max(0.3, 1 + noise * random.Normal());
  return speeds;
}

TEST(CodedSpeeds, NoiseHardlyEverMovesData) {
  const std::vector<double> speeds(8, 100);
  for (const char* code : {"none", "repetition", "heterogeneous"}) {
    for (const double noise : {0.1, 0.2, 0.3}) {
      uint64_t replans = 0;
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        Random random(seed, Stream::kTest);
        Script script(Options(8, code));
        script.Start(speeds);
        for (int step = 0; step < 1000; ++step) script.WholeStep(Noisy(speeds, noise, random));
        EXPECT_EQ(script.Stats().steps_committed, 1000u);
        replans += script.Stats().replans;
      }
      EXPECT_LE(replans, noise < 0.25 ? 1u : 15u) << code << ", noise " << noise;
    }
  }
}

// Number of steps, after a change of its speed in step 200, until worker 0 has at most `share`.
int StepsUntilShare(double share, double change, double noise, uint64_t seed) {
  Random random(seed, Stream::kTest);
  Script script(Options(4, "none"));
  std::vector<double> speeds(4, 100);
  script.Start(speeds);
  for (int step = 0; step < 200; ++step) script.WholeStep(Noisy(speeds, noise, random));
  speeds[0] *= change;
  int steps = 0;
  for (; steps < 1000 && script.Stats().workers[0].share > share; ++steps) {
    script.WholeStep(Noisy(speeds, noise, random));
  }
  return steps;
}

TEST(CodedSpeeds, ChangesAreFollowedThroughNoise) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (const double noise : {0.1, 0.2, 0.3}) {
      EXPECT_LE(StepsUntilShare(0.125, 0.2, noise, seed), 10) << noise << ", seed " << seed;
    }
    for (const double noise : {0.05, 0.1, 0.2}) {
      EXPECT_LE(StepsUntilShare(0.225, 0.75, noise, seed), 100) << noise << ", seed " << seed;
    }
  }
}

// --- A limited number of workers ---

std::vector<WorkerId> Sharers(const Script& script) {
  std::vector<WorkerId> sharers;
  const SchedulerStats stats = script.Stats();
  for (WorkerId id = 0; id < stats.workers.size(); ++id) {
    if (stats.workers[id].share > 0) sharers.push_back(id);
  }
  return sharers;
}

TEST(CodedSpeeds, TheFastestTakePartAndOthersStandBy) {
  SchedulerOptions options = Options(5, "none");
  options.most_workers = 2;
  Script script(options);
  std::vector<double> speeds = {100, 400, 200, 300, 50};
  script.Start(speeds);
  for (int step = 0; step < 30; ++step) script.WholeStep(speeds);
  EXPECT_EQ(Sharers(script), (std::vector<WorkerId>{1, 3}));
  EXPECT_EQ(script.Stats().workers[2].samples,
            0u);  // It gets no trials either.
  script.Lost(1);
  for (int step = 0; step < 5; ++step) script.WholeStep(speeds);
  EXPECT_EQ(Sharers(script), (std::vector<WorkerId>{2, 3}));
}

TEST(CodedSpeeds, AFastWorkerBehindANarrowLinkStandsBy) {
  SchedulerOptions options = Options(3, "none");
  options.most_workers = 1;
  Script script(options);
  for (WorkerId id = 0; id < 3; ++id) script.Join(id);
  for (WorkerId id = 0; id < 3; ++id) {
    script.Send(LinkMeasured{id, FromSeconds(id == 1 ? 100 : 0.1)});
  }
  const std::vector<double> speeds = {100, 400, 50};
  for (WorkerId id = 0; id < 3; ++id) script.Ready(id, speeds[id]);
  for (int step = 0; step < 5; ++step) script.WholeStep(speeds);
  EXPECT_EQ(Sharers(script), (std::vector<WorkerId>{0}));
}

TEST(CodedSpeeds, WhoTakesPartIsNotChangedForALittle) {
  for (const double change : {0.8, 0.2}) {
    SchedulerOptions options = Options(3, "none");
    options.most_workers = 1;
    Script script(options);
    std::vector<double> speeds = {100, 110, 100};
    script.Start(speeds);
    for (int step = 0; step < 10; ++step) script.WholeStep(speeds);
    EXPECT_EQ(Sharers(script), (std::vector<WorkerId>{1}));
    speeds[1] *= change;
    for (int step = 0; step < 30; ++step) script.WholeStep(speeds);
    EXPECT_EQ(Sharers(script), (std::vector<WorkerId>{change > 0.5 ? 1U : 0U})) << change;
  }
}

TEST(CodedSpeeds, AGuessFarTooHighDoesNotStretchDeadlines) {
  Script script(Options(8, "none"));
  script.Start(std::vector<double>(8, 50000));
  for (int step = 0; step < 12; ++step) {
    script.WholeStep(std::vector<double>(8, 50));
    if (step < 2) continue;  // The first steps still depend on the guess.
    EXPECT_LE(script.SecondsToDeadline(), 3.0) << "it takes 0.64 s, step " << step;
  }
}

// Runs `steps` steps and returns those in which worker 2, too slow for a share, had a trial.
std::vector<int> StepsTried(Script& script, const std::vector<double>& speeds, int steps) {
  std::vector<int> tried;
  for (int step = 1; step <= steps; ++step) {
    for (const std::string& line : script.WholeStep(speeds)) {
      if (line.starts_with("assign 2 ")) tried.push_back(step);
    }
  }
  return tried;
}

TEST(CodedSpeeds, WhoIsTooSlowForAShareIsTriedMoreAndMoreRarely) {
  Script script(Options(3, "none"));
  script.Start({1000, 1000, 1});
  const std::vector<int> tried = StepsTried(script, {1000, 1000, 1}, 400);
  ASSERT_GE(tried.size(), 3u);
  EXPECT_LE(tried.size(), 6u);
  for (size_t i = 2; i < tried.size(); ++i) {
    EXPECT_GT(tried[i] - tried[i - 1], tried[i - 1] - tried[i - 2]);
  }
}

TEST(CodedSpeeds, WhoIsFastAgainGetsAShareAgain) {
  Script script(Options(3, "none"));
  script.Start({1000, 1000, 1});
  StepsTried(script, {1000, 1000, 1}, 100);
  ASSERT_EQ(script.Stats().workers[2].share, 0);
  int steps = 0;
  while (steps < 400 && script.Stats().workers[2].share < 0.2) {
    script.WholeStep({1000, 1000, 1000});
    ++steps;
  }
  EXPECT_LE(steps, 200);
}

// A worker's claim about itself may come from one sample on a busy machine. Steps may be so short
// that a row's owner always answers before a copy of it begins.
TEST(CodedSpeeds, WhoSaysItIsSlowIsMeasuredAlthoughItsCopiesComeTooLate) {
  constexpr int kBehind = 3;  // Number of steps before it can begin.
  Script script(Options(3, "none"));
  script.Start({1000, 1000, 1});
  int steps = 0;
  int to_begin = 0;
  double samples = 0;
  Script::Lines opening;
  for (; steps < 200 && script.Stats().workers[2].share < 0.2; ++steps) {
    for (const std::string& line : opening) {
      if (!line.starts_with("assign 2 ")) continue;
      to_begin = kBehind;
      samples = script.decoder().code().rows[0].size();
    }
    script.Advance(samples > 0 ? 0.001 : 0.048);
    Script::Lines lines;
    for (const WorkerId owner : {0, 1}) {
      const double share = script.decoder().code().rows[owner].size();
      for (const std::string& line : script.Arrive(owner, owner)) lines.push_back(line);
      script.Free(owner, static_cast<uint64_t>(share), share / 1000);
    }
    const auto cancels = [](const std::string& line) { return line.starts_with("cancel 2"); };
    if (to_begin > 0 && std::any_of(lines.begin(), lines.end(), cancels)) {
      to_begin = 0;
      script.Free(2);
    } else if (to_begin > 0 && --to_begin == 0) {
      script.Free(2, static_cast<uint64_t>(samples), samples / 1000);
    }
    opening = script.Applied();
  }
  EXPECT_LE(steps, 120);
}

// Its trial lasts no longer than a second, because others may need the worker then.
TEST(CodedSpeeds, WhoDoesNotEndWhatItIsTriedWithIsTold) {
  Script script(Options(3, "none"));
  script.Start({1000, 1000, 1});
  bool tried = false;
  for (int step = 0; step < 60 && !tried; ++step) {
    for (const std::string& line : script.WholeStep({1000, 1000, 1})) {
      tried |= line.starts_with("assign 2 ");
    }
  }
  ASSERT_TRUE(tried);
  bool told = false;
  for (int step = 0; step < 40 && !told; ++step) {
    script.Advance(0.05);
    Script::Lines lines;
    for (const WorkerId owner : {0, 1}) {
      for (const std::string& line : script.Arrive(owner, owner)) lines.push_back(line);
      script.Free(owner, 48, 0.048);
    }
    for (const std::string& line : script.Applied()) lines.push_back(line);
    for (const std::string& line : lines) told |= line.starts_with("cancel 2 ");
    EXPECT_FALSE(told && step < 15) << step;
  }
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace motley
