// SPDX-License-Identifier: Apache-2.0
#include "planner/policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "coding/schemes.h"
#include "planner/planner.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

SchedulerOptions OptionsFor(const Scheme& scheme) {
  SchedulerOptions options;
  options.workers = 4;
  options.partitions = 16;
  options.code = scheme.name;
  options.tolerate = scheme.keeps_copies ? 1 : 0;
  options.batch = 64;
  return options;
}

TEST(Policies, EverySchemeMakesASchedulerThatAsksForItsFirstTick) {
  for (const Scheme& scheme : Schemes()) {
    const auto made = MakeScheduler(OptionsFor(scheme));
    ASSERT_TRUE(made.ok()) << scheme.name << ": " << made.status().ToString();
    EXPECT_NE((*made)->Deadline(), kNever);
    EXPECT_EQ((*made)->Stats().workers.size(), 4u);
  }
}

TEST(Policies, AnUnknownSchemeIsAnsweredWithTheNamesThereAre) {
  SchedulerOptions options = OptionsFor(SchemeNamed("none"));
  options.code = "nonesuch";
  const auto made = MakeScheduler(options);
  EXPECT_EQ(made.code(), StatusCode::kNotFound);
  EXPECT_THAT(made.status().message(), HasSubstr("repetition"));
}

// What the list says that the planner tries, it tries, and nothing else.
TEST(Policies, ThePlannerTriesWhatTheListSays) {
  std::set<std::string> tried, listed;
  for (const Candidate& candidate : CandidatesFor(8, 3)) tried.insert(candidate.scheme);
  for (const Scheme& scheme : Schemes()) {
    if (scheme.least_copies > 0) listed.insert(scheme.name);
    EXPECT_TRUE(!scheme.for_auto || scheme.least_copies > 0)
        << scheme.name << " can be chosen, and nobody would try it";
  }
  EXPECT_EQ(tried, listed);
}

}  // namespace
}  // namespace motley
