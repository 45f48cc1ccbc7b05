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

/** Numbers of the whole job, from motley_job_metrics. */
typedef struct motley_metrics {
  uint32_t struct_size;
  uint32_t workers;         /**< Workers that joined and were not lost. */
  uint64_t steps;           /**< Steps that were applied. */
  uint64_t discarded_steps; /**< Steps that were opened but never applied. */
  double wall_seconds;      /**< From the first step's start to the last update. */
  double batch_loss;        /**< Mean over the newest step's batch, before its update. */
  double max_decode_error;  /**< Relative to the gradient, over all audited steps. */
  uint64_t checkpoint_step; /**< Number of steps in the newest safe checkpoint; 0: none. */
  uint64_t steps_wanted;    /**< Length of the whole job; 0: not known yet. */
  uint64_t steps_per_epoch; /**< 0: not known yet. */
  uint32_t workers_wanted;
  uint32_t ends_early; /**< 1: the job may end before steps_wanted, when progress ends. */
  /** Steps decoded with an error (see motley_event). After the run this includes the runs that the
      job resumed. */
  uint64_t approximate_steps;
  double approximate_error;     /**< Mean error of the approximate steps. */
  double max_approximate_error; /**< Largest error of them. */
  double learning_rate;         /**< The rate of the newest update. */
} motley_metrics;

#define MOTLEY_METRICS_INIT \
  { sizeof(motley_metrics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Numbers of one worker in this run, from motley_job_worker. */
typedef struct motley_worker_metrics {
  uint32_t struct_size;
  uint32_t state;   /**< MOTLEY_WORKER_... */
  uint64_t samples; /**< Samples computed, used or not. */
  uint64_t in_time; /**< Answers that came while their step was open. */
  uint64_t late;    /**< Steps that ended without an answer that it owed. */
  const char* name; /**< Valid until the job's next event. */
} motley_worker_metrics;

enum {
  MOTLEY_WORKER_UP = 1,
  MOTLEY_WORKER_LEFT = 2, /**< It said goodbye. */
  MOTLEY_WORKER_LOST = 3,
  /** It is connected, but the job waits no longer for it: it has not answered for many times its
      usual time, or its process has been silent for 3 s. It is up again with its next message. */
  MOTLEY_WORKER_LATE = 4
};

#define MOTLEY_WORKER_METRICS_INIT \
  { sizeof(motley_worker_metrics), 0, 0, 0, 0, NULL }

#ifdef __cplusplus
}
#endif

#endif
