/* SPDX-License-Identifier: Apache-2.0 */
/** The trainer of point_trainer.h as a loop that a program owns. */
#ifndef TESTS_API_POINT_LOOP_H
#define TESTS_API_POINT_LOOP_H

#include "tests/api/point_trainer.h"

static inline motley_loop PointLoop(uint32_t flags) {
  motley_loop loop = MOTLEY_LOOP_INIT;
  loop.flags = flags;
  loop.parameter_count = POINT_DIMENSIONS;
  return loop;
}

static inline motley_status AddPoints(motley_job* job, const motley_step* step) {
  for (uint32_t r = 0; r < step->run_count; ++r) {
    const motley_run* run = &step->runs[r];
    for (uint64_t i = run->first; i < run->first + run->count; ++i) {
      for (uint64_t axis = 0; axis < POINT_DIMENSIONS; ++axis) {
        const float away = step->parameters[axis] - PointCoordinate(step->samples[i], axis);
        for (uint32_t v = 0; v < step->vectors; ++v) {
          step->sums[v][axis] += (float)run->weights[v] * away;
        }
        step->losses[r] += 0.5 * away * away;
      }
    }
    if (motley_step_partial(job, step, run->first + run->count) == MOTLEY_CANCELLED) {
      return MOTLEY_CANCELLED;
    }
  }
  return MOTLEY_OK;
}

/** Takes steps until the job ends. Plain SGD, whose state counts the updates. */
static inline motley_status PullPoints(motley_job* job) {
  motley_step step = MOTLEY_STEP_INIT;
  for (;;) {
    const motley_status begun = motley_step_begin(job, -1, &step);
    if (begun != MOTLEY_OK || step.kind == MOTLEY_STEP_END) return begun;
    motley_status done = MOTLEY_OK;
    if (step.kind == MOTLEY_STEP_GRADIENT) done = AddPoints(job, &step);
    if (step.kind == MOTLEY_STEP_INITIALIZE) {
      for (uint64_t i = 0; i < step.parameter_count; ++i) step.new_parameters[i] = 3;
    }
    if (step.kind == MOTLEY_STEP_APPLY) {
      for (uint64_t i = 0; i < step.parameter_count; ++i) {
        step.new_parameters[i] -= (float)step.learning_rate * step.gradient[i];
      }
      for (uint64_t i = 0; i < step.state_count; ++i) step.state[i] += 1;
    }
    done = motley_step_end(job, &step, done);
    if (done != MOTLEY_OK) return done;
  }
}

#endif
