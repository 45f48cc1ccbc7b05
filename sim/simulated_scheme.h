// SPDX-License-Identifier: Apache-2.0
// Schemes of the planner's as jobs, and how long such jobs are simulated: `motley plan`,
// `motley simulate --compare` and the planner's judge do the same.
#pragma once

#include <cstdint>
#include <string>

#include "planner/planner.h"
#include "scheduler/scheduler_stats.h"

namespace motley {

// In which a job learns speeds and links, and moves data to where they are needed. What steps take
// is said of those after.
inline constexpr uint32_t kLearningSteps = 60;
inline constexpr uint32_t kCountedSteps = 80;
// Jobs with seeds of their own: an interval needs several.
inline constexpr uint32_t kComparedSeeds = 5;

struct SimulatedJobCode {
  std::string code;
  uint32_t tolerate = 0;
  uint32_t parts = 2;
  uint32_t workers = 0;  // That take part; 0: all.
};
// Of the job that runs this scheme.
SimulatedJobCode SimulatedCodeOf(const Candidate& candidate);
// What `auto` chose, as the planner calls it, but for how many workers take part.
Candidate CandidateOf(const CodeChoice& choice);

// Floats of a slice of a simulated vector: slices as jobs cut them, up to a number above which more
// say the same.
uint32_t SimulatedSliceLength(uint64_t gradient_bytes);

}  // namespace motley
