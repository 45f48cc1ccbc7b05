// SPDX-License-Identifier: Apache-2.0
// Runs every seed that once failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/scenario.h"
#include "sim/seed_run.h"
#include "test_paths.h"

namespace motley {
namespace {

// The first words of the lines of seeds/*.txt; '#' starts a comment.
std::vector<uint64_t> KeptSeeds() {
  const std::filesystem::path folder =
      std::filesystem::path(MOTLEY_SOURCE_DIR) / "tests" / "sim" / "seeds";
  std::vector<uint64_t> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      uint64_t seed = 0;
      const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), seed);
      if (error == std::errc()) seeds.push_back(seed);
    }
  }
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

class KeptSeed : public testing::TestWithParam<uint64_t> {};

TEST_P(KeptSeed, StaysFine) {
  const SeedReport report = RunSeed(GetParam());
  EXPECT_THAT(report.violations, testing::IsEmpty())
      << DescribeScenario(MakeScenario(GetParam())) << "\nmotley-sim --seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Files, KeptSeed, testing::ValuesIn(KeptSeeds()));

TEST(Scenario, FollowsFromItsSeedAlone) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Scenario scenario = MakeScenario(seed);
    EXPECT_EQ(DescribeScenario(scenario), DescribeScenario(MakeScenario(seed)));
    const uint32_t workers = scenario.options.job.workers;
    EXPECT_GE(workers, 1u);
    EXPECT_LE(workers, 12u);
    EXPECT_EQ(scenario.options.cluster.workers.size(), workers);
    EXPECT_LE(scenario.options.job.tolerate, 3u);
  }
}

TEST(Scenario, EachKindOfFaultIsOffInAboutHalfOfThem) {
  int kill = 0, pause = 0, slow = 0, partition = 0, nan = 0, garble = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const RandomFaults faults = MakeScenario(seed).options.random_faults;
    kill += faults.kill_every > 0;
    pause += faults.pause_every > 0;
    slow += faults.slow_every > 0;
    partition += faults.partition_every > 0;
    nan += faults.nan_every > 0;
    garble += faults.garble_every > 0;
  }
  for (const int on : {kill, pause, slow, partition, nan, garble}) {
    EXPECT_GT(on, 150);
    EXPECT_LT(on, 250);
  }
}

}  // namespace
}  // namespace motley
