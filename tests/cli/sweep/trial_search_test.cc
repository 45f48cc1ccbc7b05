// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/trial_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/random.h"

namespace motley {
namespace {

SearchPlan Plan(SearchMethod method, uint32_t trials) {
  SearchPlan plan;
  plan.method = method;
  plan.flags = {{"lr", DrawnRange{1e-4, 1e-1, true, false}},
                {"batch", std::vector<std::string>{"16", "32"}},
                {"depth", DrawnRange{1, 4, false, true}}};
  plan.trials = trials;
  plan.epochs = 9;
  return plan;
}

TEST(TrialSearch, AGridHasEachCombinationOnce) {
  SearchPlan plan;
  plan.flags = {{"lr", std::vector<std::string>{"0.1", "0.2", "0.3"}},
                {"batch", std::vector<std::string>{"16", "32"}}};
  const std::vector<TrialValues> values = ValuesOf(plan);
  ASSERT_EQ(values.size(), 6u);
  EXPECT_EQ(values[0], (TrialValues{"0.1", "16"}));
  EXPECT_EQ(values[1], (TrialValues{"0.1", "32"}));
  EXPECT_EQ((std::set<TrialValues>(values.begin(), values.end())).size(), 6u);
}

TEST(TrialSearch, DrawnValuesStayInTheirRangesAndFollowFromSeedAndTrial) {
  const SearchPlan plan = Plan(SearchMethod::kRandom, 500);
  const std::vector<TrialValues> values = ValuesOf(plan);
  size_t small = 0;
  std::set<std::string> depths;
  for (const TrialValues& trial : values) {
    const double rate = std::stod(trial[0]);
    EXPECT_GE(rate, 0.99e-4);
    EXPECT_LE(rate, 1.01e-1);
    if (rate < std::pow(10, -2.5)) ++small;
    depths.insert(trial[2]);
  }
  EXPECT_NEAR(static_cast<double>(small), 250, 50);  // Half of a logarithmic range.
  EXPECT_EQ(depths, (std::set<std::string>{"1", "2", "3", "4"}));
  // A longer search begins with the same trials.
  const std::vector<TrialValues> longer = ValuesOf(Plan(SearchMethod::kRandom, 600));
  EXPECT_TRUE(std::equal(values.begin(), values.end(), longer.begin()));
}

TEST(TrialSearch, WholeNumbersStayInARangeWithFractions) {
  SearchPlan plan;
  plan.method = SearchMethod::kRandom;
  plan.flags = {{"depth", DrawnRange{0.2, 2.9, false, true}},
                {"shift", DrawnRange{-0.9, 0.9, false, true}}};
  plan.trials = 200;
  std::set<std::string> depths, shifts;
  for (const TrialValues& trial : ValuesOf(plan)) {
    depths.insert(trial[0]);
    shifts.insert(trial[1]);
  }
  EXPECT_EQ(depths, (std::set<std::string>{"1", "2"}));
  EXPECT_EQ(shifts, (std::set<std::string>{"0"}));
}

TEST(TrialSearch, AllTrialsOfARandomSearchAreTrainedToTheirEnd) {
  TrialSearch search(Plan(SearchMethod::kRandom, 3), 3);
  EXPECT_EQ(search.rungs(), 1u);
  for (uint32_t trial = 0; trial < 3; ++trial) {
    const auto run = search.Next();
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(run->trial, trial);
    EXPECT_EQ(run->epochs, 9u);
    search.Started(*run);
  }
  EXPECT_FALSE(search.Next().has_value());
  EXPECT_FALSE(search.done());
  for (uint32_t trial = 0; trial < 3; ++trial) search.Ended({trial, 0, 9}, 1.0);
  EXPECT_TRUE(search.done());
}

TEST(TrialSearch, TheBestThirdGoesOnWithoutWaitingForTheRest) {
  TrialSearch search(Plan(SearchMethod::kAsha, 9), 9);
  ASSERT_EQ(search.rungs(), 3u);
  EXPECT_EQ(search.EpochsOf(0), 1u);
  EXPECT_EQ(search.EpochsOf(1), 3u);
  EXPECT_EQ(search.EpochsOf(2), 9u);
  const double losses[] = {0.9, 0.4, 0.7};
  for (const double loss : losses) {
    const auto run = search.Next();
    ASSERT_EQ(run->rung, 0u);
    search.Started(*run);
    search.Ended(*run, loss);
  }
  const auto best = search.Next();
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->trial, 1u);
  EXPECT_EQ(best->rung, 1u);
  EXPECT_EQ(best->epochs, 3u);
}

TEST(TrialSearch, FailedTrialsNeverGoOn) {
  TrialSearch search(Plan(SearchMethod::kAsha, 3), 3);
  for (int i = 0; i < 3; ++i) {
    const auto run = search.Next();
    search.Started(*run);
    search.Ended(*run, i == 0 ? std::numeric_limits<double>::quiet_NaN()
                              : std::numeric_limits<double>::infinity());
  }
  EXPECT_TRUE(search.done());
}

// What must hold for each run that ASHA starts, whatever the order in which runs end.
TEST(TrialSearch, HundredRandomSchedulesFollowTheRule) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed, Stream::kTest);
    const uint32_t trials = 1 + static_cast<uint32_t>(random.Below(30));
    SearchPlan plan = Plan(SearchMethod::kAsha, trials);
    plan.keep = 2 + static_cast<uint32_t>(random.Below(3));
    plan.epochs = 1 + static_cast<uint32_t>(random.Below(40));
    TrialSearch search(plan, trials);
    std::vector<TrialSearch::Run> running;
    std::map<uint32_t, std::vector<std::pair<double, uint32_t>>> ended;  // By rung.
    std::map<uint32_t, std::set<uint32_t>> began;
    const size_t slots = 1 + random.Below(4);
    while (!search.done()) {
      const auto next = search.Next();
      if (next && running.size() < slots) {
        EXPECT_TRUE(began[next->rung].insert(next->trial).second) << "twice in a rung";
        if (next->rung > 0) {
          auto all = ended[next->rung - 1];
          std::sort(all.begin(), all.end());
          all.resize(all.size() / plan.keep);
          EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                                  [&](const auto& each) { return each.second == next->trial; }));
        }
        search.Started(*next);
        running.push_back(*next);
        continue;
      }
      ASSERT_FALSE(running.empty());
      const size_t i = random.Below(running.size());
      const double loss = random.NextDouble();
      search.Ended(running[i], loss);
      ended[running[i].rung].emplace_back(loss, running[i].trial);
      running.erase(running.begin() + static_cast<ptrdiff_t>(i));
    }
    EXPECT_EQ(began[0].size(), trials);
    // At the end everybody who deserves it has gone on.
    for (uint32_t rung = 0; rung + 1 < search.rungs(); ++rung) {
      EXPECT_GE(began[rung + 1].size(), ended[rung].size() / plan.keep);
    }
  }
}

}  // namespace
}  // namespace motley
