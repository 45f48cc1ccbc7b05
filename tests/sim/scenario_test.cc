// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire_format.h"
#include "coding/schemes.h"
#include "scheduler/sync/sync_mode.h"
#include "sim/draw_sync.h"
#include "sim/faults/random_fault.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

// An entry of the list that no scenario runs would never be checked.
TEST(Scenario, EverySchemeIsDrawn) {
  std::set<std::string> drawn, listed;
  for (const Scheme& scheme : Schemes()) listed.insert(scheme.name);
  for (uint64_t seed = 0; seed < 400 && drawn.size() < listed.size(); ++seed) {
    drawn.insert(MakeScenario(seed).options.job.code);
  }
  EXPECT_EQ(drawn, listed);
}

TEST(Scenario, EveryRandomFaultIsDrawn) {
  std::set<std::string> drawn, listed;
  for (const FaultKind* kind : FaultKinds()) listed.insert(kind->name);
  for (uint64_t seed = 0; seed < 400 && drawn.size() < listed.size(); ++seed) {
    const RandomFaults faults = MakeScenario(seed).options.random_faults;
    for (const FaultKind* kind : FaultKinds()) {
      if (faults.*kind->every > 0) drawn.insert(kind->name);
    }
  }
  EXPECT_EQ(drawn, listed);
}

TEST(Scenario, EveryOptimizerIsDrawn) {
  std::set<std::string> drawn, listed;
  for (const std::string& name : OptimizerNames()) listed.insert(name);
  for (uint64_t seed = 0; seed < 400 && drawn.size() < listed.size(); ++seed) {
    drawn.insert(MakeScenario(seed).options.job.optimizer.name);
  }
  EXPECT_EQ(drawn, listed);
}

TEST(Scenario, EveryWireFormatIsDrawn) {
  std::set<std::string> drawn;
  const std::vector<std::string> listed = WireFormatNames();
  for (uint64_t seed = 0; seed < 400 && drawn.size() < listed.size(); ++seed) {
    drawn.emplace(NameOf(MakeScenario(seed).options.job.wire));
  }
  EXPECT_EQ(drawn, std::set<std::string>(listed.begin(), listed.end()));
}

TEST(Scenario, EveryNumberOfFollowersIsDrawn) {
  std::set<uint32_t> drawn;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const JobOptions job = MakeScenario(seed).options.job;
    if (job.holders != JobOptions::Holders::kServer) drawn.insert(job.followers);
  }
  EXPECT_EQ(drawn, std::set<uint32_t>({0, 1, 2, 3}));
}

TEST(Scenario, EverySyncModeIsDrawn) {
  std::set<std::string> drawn, listed;
  for (const SyncForm& form : SyncForms()) listed.emplace(NameOf(form));
  for (uint64_t seed = 0; seed < 400 && drawn.size() < listed.size(); ++seed) {
    const std::string mode = NameOf(MakeScenario(seed).options.job.sync);
    drawn.insert(mode.substr(0, mode.find(':')));
  }
  EXPECT_EQ(drawn, listed);
}

}  // namespace
}  // namespace motley
