// SPDX-License-Identifier: Apache-2.0
// Holds what `motley plan` says of a step to what `motley simulate` says of the same cluster file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiles/profile.h"

namespace motley {

ClusterProfile SampleCluster(const std::string& name);  // One of profiles/.
// 3 to 16 workers of two kinds, of speeds and links up to ten times apart.
ClusterProfile DrawCluster(uint64_t seed, uint32_t& batch);

// What rows of plans take with other seeds, over what was planned.
struct OtherSeeds {
  std::vector<double> log_ratios;
  uint32_t apart = 0;  // By more than 10 %, and by more than seeds differ.
};

// Every row of the plan that one can type has the figure that `motley simulate --compare` shows,
// and the plan recommends the fastest. Where `others` is there all rows are run with other seeds as
// well.
void ExpectAgreement(const ClusterProfile& cluster, uint32_t batch, OtherSeeds* others);
// Other seeds say the same on average, and are seldom far apart. A single row may be, by chance.
void ExpectNoBias(const OtherSeeds& others);

}  // namespace motley
