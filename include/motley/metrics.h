/* SPDX-License-Identifier: Apache-2.0 */
/** Numbers of a job (job.h) and of its workers, while it runs and afterwards. */
#ifndef MOTLEY_METRICS_H
#define MOTLEY_METRICS_H

#include <motley/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Of the whole job: motley_job_metrics. */
typedef struct motley_metrics {
  uint32_t struct_size;
  uint32_t workers;         /**< Joined and not lost. */
  uint64_t steps;           /**< Applied. */
  uint64_t discarded_steps; /**< Opened, but never applied. */
  double wall_seconds;      /**< From the first step's start to the last update. */
  double batch_loss;        /**< Mean over the newest step's batch, before its update. */
  double max_decode_error;  /**< Relative, over the steps that were audited. */
  uint64_t checkpoint_step; /**< Steps that the newest safe checkpoint has; 0: none. */
  uint64_t steps_wanted;    /**< Of the whole job; 0: not known yet. */
  uint64_t steps_per_epoch; /**< 0: not known yet. */
  uint32_t workers_wanted;
  uint32_t ends_early; /**< 1: steps_wanted is the most; the job ends where nothing is gained. */
  /** Decoded with an error (motley_event); after the run also those of the runs it resumed. */
  uint64_t approximate_steps;
  double approximate_error;     /**< Mean over these steps. */
  double max_approximate_error; /**< And the largest. */
  double learning_rate;         /**< Of the newest update. */
} motley_metrics;

#define MOTLEY_METRICS_INIT \
  { sizeof(motley_metrics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Of one worker: motley_job_worker. Counts are of this run. */
typedef struct motley_worker_metrics {
  uint32_t struct_size;
  uint32_t state;   /**< MOTLEY_WORKER_... */
  uint64_t samples; /**< Computed, whether used or not. */
  uint64_t in_time; /**< Answers that came while their step was open. */
  uint64_t late;    /**< Steps that ended without an answer that it was asked for. */
  const char* name; /**< Lives until the job's next event. */
} motley_worker_metrics;

enum {
  MOTLEY_WORKER_UP = 1,
  MOTLEY_WORKER_LEFT = 2, /**< It took its leave. */
  MOTLEY_WORKER_LOST = 3
};

#define MOTLEY_WORKER_METRICS_INIT \
  { sizeof(motley_worker_metrics), 0, 0, 0, 0, NULL }

#ifdef __cplusplus
}
#endif

#endif
