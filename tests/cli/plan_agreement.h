// SPDX-License-Identifier: Apache-2.0
// Compares the step times of `motley plan` with those of `motley simulate` on the same cluster
// file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/plan/plan_report.h"
#include "profiles/profile.h"

namespace motley {

ClusterProfile SampleCluster(const std::string& name);  // Reads a file of profiles/.
// Draws 3 to 16 workers of two kinds, with speeds and links that differ by up to a factor of ten.
ClusterProfile DrawCluster(uint64_t seed, uint32_t& batch);

// Times of rows of plans with other seeds, relative to the planned times.
struct OtherSeeds {
  std::vector<double> log_ratios;
  uint32_t apart = 0;  // Rows that differ by more than 10 %, and by more than seeds do.
};

// Checks that every row with flags has the figure that `motley simulate --compare` shows, and that
// the plan recommends the fastest. With `others` all rows are also run with other seeds.
void ExpectAgreement(const ClusterProfile& cluster, uint32_t batch, OtherSeeds* others);
// The same with another place or format of the vector.
void ExpectAgreement(const ClusterProfile& cluster, const PlanFlags& flags, OtherSeeds* others);
// Checks that other seeds agree on average and are seldom far apart. A single row may be, by
// chance.
void ExpectNoBias(const OtherSeeds& others);

}  // namespace motley
