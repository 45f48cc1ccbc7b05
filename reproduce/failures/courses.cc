// SPDX-License-Identifier: Apache-2.0
#include "reproduce/failures/courses.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "reproduce/failures/stacked_shards.h"
#include "reproduce/monte_carlo.h"

namespace motley {
namespace {

// The mean time until the next loss, in seconds.
double NextLoss(const FailingSite& site, size_t lost) {
  return site.failure_seconds * site.groups / static_cast<double>(site.groups - lost);
}

}  // namespace

std::vector<uint32_t> OrderOfLosses(uint32_t groups, Random& random) {
  std::vector<uint32_t> order(groups);
  std::iota(order.begin(), order.end(), 0U);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  return order;
}

Course Replicated(uint32_t groups, uint32_t copies, Random& random) {
  std::vector<uint32_t> gone(groups / copies);
  Course course;
  for (const uint32_t group : OrderOfLosses(groups / copies * copies, random)) {
    course.steps.push_back(copies);
    if (++gone[group / copies] == copies) break;
  }
  course.loss = 0;  // The other copies are computed in the same step.
  return course;
}

Course Stacked(uint32_t groups, uint32_t copies, Random& random) {
  StackedShards shards(groups, copies);
  Course course;
  for (const uint32_t group : OrderOfLosses(groups, random)) {
    course.steps.push_back(shards.depth());
    if (!shards.Lose(group)) break;
  }
  return course;
}

Course Leased(uint32_t groups, uint32_t most, double even, double loss) {
  Course course{.steps = {}, .loss = loss, .planned = true};
  for (uint32_t lost = 0; lost < most; ++lost) {
    course.steps.push_back(even * groups / static_cast<double>(groups - lost));
  }
  return course;
}

TrainingTime TimeOfTraining(const ReproduceContext& context, uint64_t stream, uint64_t runs,
                            const FailingSite& site, const DrawCourse& draw) {
  enum { kSeconds, kSteps, kLosses, kLastRate, kPlanned, kFigures };
  const auto means =
      MeansOfRuns(context, stream, runs, kFigures, [&](Random& random, std::span<double> figures) {
        const Course course = draw(random);
        for (size_t lost = 0; lost < course.steps.size(); ++lost) {
          const double seconds = random.Exponential(NextLoss(site, lost));
          figures[kSeconds] += seconds;
          // What the loss makes longer brings no step.
          const double work = std::max(0.0, seconds - course.loss * site.step_seconds);
          figures[kSteps] += work / (course.steps[lost] * site.step_seconds);
        }
        figures[kLosses] = static_cast<double>(course.steps.size());
        figures[kLastRate] = 1 / (course.steps.back() * site.step_seconds);
        figures[kPlanned] = course.planned ? 1 : 0;
      });
  const double seconds = means[kSeconds].mean, steps = means[kSteps].mean;
  TrainingTime found;
  found.losses = means[kLosses].mean;
  found.depth = seconds / (steps * site.step_seconds);
  const double interval = std::sqrt(2 * site.checkpoint_seconds * seconds);
  // On average half an interval is lost, and no more than there was.
  const bool planned = means[kPlanned].mean > 0.5;
  const double lost = planned ? 0 : std::min(steps, interval / 2 * means[kLastRate].mean);
  const double written = planned        ? site.checkpoint_seconds
                         : interval > 0 ? seconds / interval * site.checkpoint_seconds
                                        : 0;
  found.time = (seconds + written + site.restart_seconds) / ((steps - lost) * site.step_seconds);
  return found;
}

}  // namespace motley
