// SPDX-License-Identifier: Apache-2.0
// Runs every seed that once failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/draw_sync.h"
#include "sim/scenario.h"
#include "sim/seed_run.h"
#include "test_paths.h"

namespace motley {
namespace {

struct Kept {
  uint64_t seed = 0;
  const SyncForm* sync = nullptr;  // Null: drawn.

  auto operator<=>(const Kept&) const = default;
};

void PrintTo(const Kept& kept, std::ostream* out) {
  *out << kept.seed << (kept.sync != nullptr ? NameOf(*kept.sync) : "");
}

// The lines of seeds/*.txt: a seed, `--sync MODE` if it was given, and what was wrong. '#' starts a
// comment.
std::vector<Kept> KeptSeeds() {
  const std::filesystem::path folder =
      std::filesystem::path(MOTLEY_SOURCE_DIR) / "tests" / "sim" / "seeds";
  std::vector<Kept> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      Kept kept;
      if (!(words >> kept.seed)) continue;
      std::string word;
      if (words >> word && word == "--sync" && words >> word) kept.sync = FindSyncForm(word);
      seeds.push_back(kept);
    }
  }
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

class KeptSeed : public testing::TestWithParam<Kept> {};

TEST_P(KeptSeed, StaysFine) {
  const auto [seed, sync] = GetParam();
  const SeedReport report = RunSeed(seed, sync);
  EXPECT_THAT(report.violations, testing::IsEmpty())
      << DescribeScenario(MakeScenario(seed, sync)) << "\nmotley-sim --seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Files, KeptSeed, testing::ValuesIn(KeptSeeds()));

TEST(Scenario, GetsTheModeThatIsAskedFor) {
  for (const SyncForm& form : SyncForms()) {
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      const JobOptions& job = MakeScenario(seed, &form).options.job;
      const std::string mode = NameOf(job.sync);
      const bool alone = job.workers == 1 && NameOf(form) == "backup";
      EXPECT_EQ(mode.substr(0, mode.find(':')), alone ? "bsp" : NameOf(form));
    }
  }
}

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
