// SPDX-License-Identifier: Apache-2.0
// A training that loses groups of machines, one after the other. It goes on with the others as long
// as its scheme allows, and then starts again from a checkpoint with all groups. Failures are
// independent and exponential; a lost group stays lost until the restart.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "reproduce/experiment.h"

namespace motley {

struct FailingSite {
  uint32_t groups = 0;
  double failure_seconds = 0;     // Mean time between failures while no group is lost.
  double step_seconds = 0;        // A step in which each group computes one shard.
  double restart_seconds = 0;     // From the end of one course to the begin of the next.
  double checkpoint_seconds = 0;  // The time to write one; 0: none are written.
};

// From one restart to the next: the length of a step, in undisturbed steps, while 0, 1, 2, ...
// groups are lost. The course ends with the next loss.
struct Course {
  std::vector<double> steps;
  // A loss makes the step in which it happens so much longer, in undisturbed steps.
  double loss = 1;
  bool planned = false;  // The job ends the course itself and loses no work.
};
using DrawCourse = std::function<Course(Random& random)>;

struct TrainingTime {
  double losses = 0;  // Groups lost in a course, with the last one; mean.
  double depth = 0;   // Length of a step in undisturbed steps, over the time of courses.
  double time = 0;    // Time of all, in multiples of the time without failures and copies.
};

// Mean over random courses. Checkpoints are written at the interval that Young's rule finds best,
// the root of 2 x their time x the mean length of a course.
TrainingTime TimeOfTraining(const ReproduceContext& context, uint64_t stream, uint64_t runs,
                            const FailingSite& site, const DrawCourse& draw);

// The order in which groups are lost.
std::vector<uint32_t> OrderOfLosses(uint32_t groups, Random& random);
// Each shard is computed by all of its `copies` groups. No copy of some shard is left at the end.
Course Replicated(uint32_t groups, uint32_t copies, Random& random);
// Shards are stacked (StackedShards).
Course Stacked(uint32_t groups, uint32_t copies, Random& random);
// Work moves within a step to the groups that are left: with m of n groups a step takes `even`
// n / m. The job starts again by itself after `most` losses.
Course Leased(uint32_t groups, uint32_t most, double even, double loss);

}  // namespace motley
