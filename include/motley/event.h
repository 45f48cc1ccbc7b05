/* SPDX-License-Identifier: Apache-2.0 */
/** What happens in a job (job.h), as it is told while it runs. */
#ifndef MOTLEY_EVENT_H
#define MOTLEY_EVENT_H

#include <motley/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What happens in a job. Numbers never change; unknown ones are to be ignored. A worker has notices
 * alone: its job, why it goes. With the code adaptive, which has no rows, `row` is the worker:
 * assigned when it is first given work, arrived with each vector of its. With multi-message it is
 * given several rows at once, which it answers in that order; with partial-coded it keeps them,
 * each has arrived when it is done, and the step is opened again, with an answer of each for rows.
 */
enum {
  MOTLEY_EVENT_LISTENING = 1,     /**< text: the address, and a blank and the token if made up */
  MOTLEY_EVENT_WORKER_JOINED = 2, /**< worker, text: its name */
  MOTLEY_EVENT_WORKER_LOST = 3,   /**< worker, text: why */
  MOTLEY_EVENT_STEP_OPENED = 4,   /**< step */
  MOTLEY_EVENT_ROW_ASSIGNED = 5,  /**< step, row, worker */
  MOTLEY_EVENT_ROW_ARRIVED = 6,   /**< step, row, worker: in time */
  MOTLEY_EVENT_ROW_CANCELLED = 7, /**< step, worker, row: that one, or MOTLEY_ALL_ROWS */
  MOTLEY_EVENT_STEP_DECODED = 8,  /**< step, error */
  MOTLEY_EVENT_STEP_APPLIED = 9,  /**< step, loss: mean over its batch; an estimate of it after a
                                       step that was decoded with an error */
  MOTLEY_EVENT_NOTICE = 10,       /**< text, for people */
  MOTLEY_EVENT_CHECKPOINT = 11,   /**< step: so many steps are safe in a checkpoint */
  MOTLEY_EVENT_WARNING = 12,      /**< text: why figures may not mean what they should; who lied */
  MOTLEY_EVENT_JUDGED = 13,       /**< step: of the steps done, loss: the mean over the steps since
                                       the last; text: a JSON object with `best` and, where
                                       validation samples were evaluated, `validation` */
  MOTLEY_EVENT_DETAIL = 14        /**< text, for people who ask for more: why a code was chosen */
};

#define MOTLEY_ALL_ROWS UINT32_MAX /**< The row of an event about all that a worker was given. */

typedef struct motley_event {
  uint32_t struct_size;
  int32_t kind;
  uint64_t time_ns; /**< Since the job started. */
  uint64_t step;    /**< From 0. */
  uint32_t row;
  uint32_t worker;
  double loss;
  const char* text; /**< During the call; never NULL. */
  /** 0: the step's sum is exact. Else (code approximate) it is that of alpha_j times partition j's
      gradient, with alpha_j of mean 1, and this is the mean of (alpha_j - 1)^2. */
  double error;
} motley_event;

typedef void (*motley_event_callback)(void* context, const motley_event* event);

#ifdef __cplusplus
}
#endif

#endif
