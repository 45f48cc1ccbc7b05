// SPDX-License-Identifier: Apache-2.0
#include "planner/policies.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "test_paths.h"

namespace motley {
namespace {

TEST(Policies, EverySchedulerFileIsInTheList) {
  const std::string suffix = "_scheduler.cc";
  std::set<std::string> files, names;
  for (const char* folder : {MOTLEY_SOURCE_DIR "/scheduler", MOTLEY_SOURCE_DIR "/planner/auto"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(suffix)) files.insert(name.substr(0, name.size() - suffix.size()));
    }
  }
  for (const SchedulingPolicy& policy : SchedulingPolicies()) names.insert(policy.name);
  EXPECT_EQ(names, files);
}

TEST(Policies, EveryPolicyMakesASchedulerThatAsksForItsFirstTick) {
  for (const SchedulingPolicy& policy : SchedulingPolicies()) {
    SchedulerOptions options;
    options.workers = 2;
    options.partitions = 4;
    const auto made = policy.make(options);
    ASSERT_TRUE(made.ok()) << policy.name;
    EXPECT_NE(made.value()->Deadline(), kNever);
    EXPECT_EQ(made.value()->Stats().workers.size(), 2u);
  }
}

}  // namespace
}  // namespace motley
