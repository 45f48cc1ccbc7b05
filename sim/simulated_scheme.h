// SPDX-License-Identifier: Apache-2.0
// Turns the planner's schemes into jobs, and says how long such jobs are simulated. Shared by
// `motley plan`, `motley simulate --compare` and the planner's judge.
#pragma once

#include <cstdint>
#include <string>

#include "planner/planner.h"
#include "scheduler/scheduler_stats.h"

namespace motley {

// In its first kLearningSteps a job learns speeds and links, and moves data to where they are
// needed. Step times are measured over the kCountedSteps after them.
inline constexpr uint32_t kLearningSteps = 60;
inline constexpr uint32_t kCountedSteps = 80;
// Jobs per scheme, each with its own seed. An interval needs several.
inline constexpr uint32_t kComparedSeeds = 5;

struct SimulatedJobCode {
  std::string code;
  uint32_t tolerate = 0;
  uint32_t parts = 2;
  uint32_t workers = 0;  // Workers that take part; 0: all.
};
// The code of the job that runs this scheme.
SimulatedJobCode SimulatedCodeOf(const Candidate& candidate);
// The planner's name for what `auto` chose. It leaves out how many workers take part.
Candidate CandidateOf(const CodeChoice& choice);

// Floats of a slice of a simulated vector: slices as jobs cut them, up to a number above which more
// say the same. `meshed`: workers may own parts of it. Slices to several of them take turns on a
// simulated link, and packets do so on a real one. So slices are shorter then.
uint32_t SimulatedSliceLength(uint64_t gradient_bytes, bool meshed);

}  // namespace motley
