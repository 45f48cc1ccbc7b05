/* SPDX-License-Identifier: Apache-2.0 */
/** A trainer whose best parameters are known: the mean of N points that follow from their numbers.
 */
#ifndef TESTS_API_POINT_TRAINER_H
#define TESTS_API_POINT_TRAINER_H

#include <motley/motley.h>

enum { POINT_DIMENSIONS = 3 };

static inline float PointCoordinate(uint64_t sample, uint64_t axis) {
  return (float)((sample * 37 + axis * 11) % 101) / 101.0f;
}

/** The loss of a sample is half its squared distance from the parameters. */
static inline motley_status AccumulatePoints(void* context, const motley_work* work) {
  (void)context;
  if (work->first_partition >= work->end_partition) return 4;
  for (uint64_t i = 0; i < work->sample_count; ++i) {
    if (motley_work_cancelled(work)) return MOTLEY_CANCELLED;
    for (uint64_t axis = 0; axis < POINT_DIMENSIONS; ++axis) {
      const float away = work->parameters[axis] - PointCoordinate(work->samples[i], axis);
      work->sum[axis] += (float)work->coefficient * away;
      *work->loss += work->coefficient * 0.5 * away * away;
    }
    motley_work_progress(work, i + 1);
  }
  return MOTLEY_OK;
}

static inline motley_trainer PointTrainer(void) {
  motley_trainer trainer = MOTLEY_TRAINER_INIT;
  trainer.parameter_count = POINT_DIMENSIONS;
  trainer.accumulate = AccumulatePoints;
  return trainer;
}

#endif
