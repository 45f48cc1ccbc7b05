/* SPDX-License-Identifier: Apache-2.0 */
/** Events that a running job (job.h) reports. */
#ifndef MOTLEY_EVENT_H
#define MOTLEY_EVENT_H

#include <motley/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Kinds of events. The numbers never change; ignore unknown ones. A job of role MOTLEY_WORKER has
 * only notices: what it works on, and why it leaves.
 *
 * What a row is depends on the code. With adaptive there are none, and `row` is the worker's
 * number. ROW_ASSIGNED then comes with the worker's first work, and ROW_ARRIVED with each vector.
 * With multi-message a worker gets several rows at once and answers them in that order. With
 * partial-coded a worker keeps its rows, and a row arrives when it is computed; then the step is
 * opened a second time, with one answer per worker for rows.
 */
enum {
  MOTLEY_EVENT_LISTENING = 1,     /**< text: the address; then a blank and the token if the server
                                       generated it */
  MOTLEY_EVENT_WORKER_JOINED = 2, /**< worker, text: its name */
  MOTLEY_EVENT_WORKER_LOST = 3,   /**< worker, text: the reason */
  MOTLEY_EVENT_STEP_OPENED = 4,   /**< step */
  MOTLEY_EVENT_ROW_ASSIGNED = 5,  /**< step, row, worker */
  MOTLEY_EVENT_ROW_ARRIVED = 6,   /**< step, row, worker: the answer came while the step was open */
  MOTLEY_EVENT_ROW_CANCELLED = 7, /**< step, worker, row: one row, or MOTLEY_ALL_ROWS */
  MOTLEY_EVENT_STEP_DECODED = 8,  /**< step, error */
  MOTLEY_EVENT_STEP_APPLIED = 9,  /**< step, loss: the mean over its batch; an estimate if the step
                                       was decoded with an error */
  MOTLEY_EVENT_NOTICE = 10,       /**< text, for the user */
  MOTLEY_EVENT_CHECKPOINT = 11,   /**< step: number of steps that the safe checkpoint has */
  MOTLEY_EVENT_WARNING = 12,      /**< text: why results may be wrong, or which worker answered
                                       wrongly */
  MOTLEY_EVENT_JUDGED = 13,       /**< step: number of steps done; loss: the mean over the steps
                                       since the last judgement; text: a JSON object with `best`,
                                       and `validation` if validation samples were evaluated */
  MOTLEY_EVENT_DETAIL = 14        /**< text, for users who ask for more: why a code was chosen */
};

#define MOTLEY_ALL_ROWS UINT32_MAX /**< `row` of an event about everything a worker was given. */

typedef struct motley_event {
  uint32_t struct_size;
  int32_t kind;
  uint64_t time_ns; /**< Nanoseconds since the job started. */
  uint64_t step;    /**< From 0. */
  uint32_t row;
  uint32_t worker;
  double loss;
  const char* text; /**< Valid during the call; never NULL. */
  /** 0 if the step's sum is exact. With code approximate the sum is that of alpha_j times the
      gradient of partition j, where the mean of the alpha_j is 1; then this is the mean of
      (alpha_j - 1)^2. */
  double error;
} motley_event;

typedef void (*motley_event_callback)(void* context, const motley_event* event);

#ifdef __cplusplus
}
#endif

#endif
