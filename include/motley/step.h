/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A training loop that your program owns. The job runs on a thread of the library. Your threads ask
 * it for work, do the work, and hand it back. No function of yours is called from a foreign thread,
 * except the one of motley_job_set_events.
 *
 *     motley_job_set_loop(job, &loop);
 *     motley_job_start(job);
 *     motley_step step = MOTLEY_STEP_INIT;
 *     while (motley_step_begin(job, -1, &step) == MOTLEY_OK && step.kind != MOTLEY_STEP_END) {
 *       motley_step_end(job, &step, Compute(&step));
 *     }
 *     motley_job_wait(job, -1, NULL);
 *
 * Ask until MOTLEY_STEP_END comes. A job waits for the steps that were taken, and for updates that
 * the loop applies. docs/how-to/own-gradient.md has a whole program.
 *
 * Threads. All functions here may be called from any thread, and several threads may take steps at
 * the same time. Each step belongs to the thread that works on it: its memory is valid from
 * motley_step_begin to motley_step_end.
 */
#ifndef MOTLEY_STEP_H
#define MOTLEY_STEP_H

#include <motley/job.h>
#include <motley/status.h>
#include <motley/work.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Flags of motley_loop. Worker jobs ignore them, so one program can play all roles. */
enum {
  MOTLEY_LOOP_INITIALIZE = 1, /**< The loop fills in the first parameters; otherwise they are 0. */
  MOTLEY_LOOP_APPLY = 2,      /**< The loop applies updates; else the option `optimizer` does. */
  MOTLEY_LOOP_SHOW = 4        /**< The loop sees each version at which the job pauses (option
                                   allowed_steps), and the last one unless the job ends early. */
};

typedef struct motley_loop {
  uint32_t struct_size;
  uint32_t flags;           /**< MOTLEY_LOOP_... */
  uint64_t parameter_count; /**< At least 1; the same in all processes of a job. */
  /** With MOTLEY_LOOP_APPLY: floats that the optimizer keeps between updates. They begin as 0, and
      checkpoints save them. */
  uint64_t state_count;
} motley_loop;

#define MOTLEY_LOOP_INIT \
  { sizeof(motley_loop), 0, 0, 0 }

/** Kinds of steps. The numbers never change. */
enum {
  MOTLEY_STEP_NONE = 0,       /**< Nothing to do within the timeout. It needs no motley_step_end. */
  MOTLEY_STEP_INITIALIZE = 1, /**< Server, all-in-one: write new_parameters, which are 0. A job that
                                   resumes shows its saved parameters and state. */
  MOTLEY_STEP_GRADIENT = 2,   /**< Worker, all-in-one: add to sums, losses and weights. */
  MOTLEY_STEP_APPLY = 3,      /**< Server, all-in-one: change new_parameters and state. */
  MOTLEY_STEP_SHOW = 5,       /**< Server, all-in-one: read parameters, state and losses. */
  MOTLEY_STEP_END = 4         /**< The job has ended, and motley_job_wait returns its result at
                                   once. It needs no motley_step_end. */
};

/** One piece of work. Members that a kind does not name are 0 or NULL. */
typedef struct motley_step {
  uint32_t struct_size;
  int32_t kind;    /**< MOTLEY_STEP_... */
  uint64_t ticket; /**< The library's name for this piece of work. */
  uint64_t step;   /**< GRADIENT, APPLY: number of the update, from 0. INITIALIZE: number of the
                        steps that are done: 0, or those of the checkpoint. SHOW: the first update
                        whose loss is shown; the last one is version - 1. */
  /** GRADIENT, APPLY, SHOW: version of the parameters. Equal numbers mean equal values in one
      `job`. */
  uint64_t version;
  /** The job's seed. Everything random in GRADIENT (dropout, augmentation) must follow from seed,
      step and partition or sample alone, because several workers may compute the same samples. */
  uint64_t seed;
  uint64_t parameter_count;

  /* GRADIENT: for each v below `vectors`,
       sums[v] += SUM over runs r of run[r].weights[v] * SUM over its samples of the gradient. */
  const float* parameters; /**< parameter_count floats; for SHOW, too. */
  const uint64_t* samples; /**< sample_count numbers within 0 .. N-1, run after run. */
  uint64_t sample_count;
  const motley_batch* batch; /**< The same samples in the same order; NULL without data. */
  const motley_run* runs;
  uint32_t run_count;
  uint32_t vectors;   /**< 1 for most codes; more for codes with complex numbers or parts. */
  float* const* sums; /**< `vectors` arrays of parameter_count floats; add to them. */
  double* losses;     /**< One for each run: add the sum of the samples' losses, unweighted. SHOW:
                           the mean losses of the batches of updates step .. version - 1. */
  /** One for each run: the total weight of its samples, as motley_work.weight in work.h. It is
      the number of samples at first; set it if your loss is a sum over something else. The loss
      and weight of a whole group may stand at one of its runs; then set the weights of the others
      to 0. */
  double* weights;

  /* APPLY: the update. INITIALIZE: new_parameters; for a job that resumes, copies of the saved
     parameters and of the state of MOTLEY_LOOP_APPLY, and what is written to them is lost. */
  const float* gradient; /**< The mean over the batch, clipped, with L2, as the options say. */
  float* new_parameters; /**< The parameters before; make them those after the update. */
  float* state;          /**< state_count floats. SHOW: a copy of what the optimizer keeps: momentum
                              and nag have one vector, adam and adamw the means of the gradients and
                              then of their squares. */
  uint64_t state_count;
  double learning_rate; /**< The rate that the options, schedule and motley_job_set_rate give. */
  double batch_weight;  /**< Total weight of the batch. */
  double batch_loss;    /**< Mean loss of the batch, before the update. */
  /** GRADIENT: numbers one run of the server. A worker that finds its server again after that was
      restarted gets steps of another `job`, whose versions may have other values. */
  uint64_t job;
} motley_step;

#define MOTLEY_STEP_INIT                                                                      \
  {                                                                                           \
    sizeof(motley_step), 0, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, NULL, 0, 0, NULL, NULL, NULL, \
        NULL, NULL, NULL, 0, 0, 0, 0, 0                                                       \
  }

/**
 * Puts a loop in the place of a trainer, before the job starts. MOTLEY_INVALID_ARGUMENT: no
 * parameters, unknown flags, or the options do not fit: MOTLEY_LOOP_APPLY needs `reduce` star.
 * Nothing is audited.
 */
MOTLEY_API motley_status motley_job_set_loop(motley_job* job, const motley_loop* loop);

/**
 * Waits for work and takes it. `timeout_seconds` below 0 waits until there is some or the job has
 * ended; 0 does not wait. The step's struct_size must be set. MOTLEY_CONFLICT: the job has no loop,
 * or was not started.
 */
MOTLEY_API motley_status motley_step_begin(motley_job* job, double timeout_seconds,
                                           motley_step* step);

/**
 * GRADIENT: reports that the first `samples_done` samples are in the sums. A worker that reports
 * progress is not taken for dead during long work. MOTLEY_CANCELLED: nobody needs the work any
 * more. The step still has to end, by motley_step_end with MOTLEY_CANCELLED. In this case
 * motley_last_error keeps its message.
 */
MOTLEY_API motley_status motley_step_partial(motley_job* job, const motley_step* step,
                                             uint64_t samples_done);

/**
 * GRADIENT: reports that the values [begin, end) of all sums are final, and all losses and weights
 * as well. The values may be sent while the rest is computed, so they must not be used any more.
 * Optional. A loss or weight that changes later ends the worker. MOTLEY_INVALID_ARGUMENT: no such
 * range, or another kind of step. MOTLEY_CONFLICT: this step is not out.
 */
MOTLEY_API motley_status motley_step_ready(motley_job* job, const motley_step* step, uint64_t begin,
                                           uint64_t end);

/**
 * Hands the work back. MOTLEY_OK: it is done. MOTLEY_CANCELLED: it is not, because
 * motley_step_partial said that nobody needs it. An APPLY may also be handed back so, if neither
 * new_parameters nor state was written: the job then ends with the version before. Any other number
 * ends this worker (GRADIENT) or the job with MOTLEY_CALLBACK. The memory of the step must not be
 * used afterwards. MOTLEY_CONFLICT: this step is not out, or was handed back before.
 */
MOTLEY_API motley_status motley_step_end(motley_job* job, const motley_step* step,
                                         motley_status status);

/**
 * A descriptor for poll and the like: readable while motley_step_begin has work or the end to
 * return. Another thread may be faster, so use the timeout 0. It belongs to the job; only poll it.
 * Returns -1 on failure; see motley_last_error.
 */
MOTLEY_API int motley_job_descriptor(motley_job* job);

/**
 * The samples of a step: the batch of a job with this seed, number of samples and batch size, in
 * ascending order. *count is set to their number, at most `batch`; `samples` has room for `batch`
 * numbers, or is NULL. It needs no job. With `sync` r2sp several steps share a batch, so ask the
 * work for its samples.
 */
MOTLEY_API motley_status motley_batch_samples(uint64_t seed, uint64_t sample_count, uint32_t batch,
                                              uint64_t step, uint64_t* samples, uint64_t* count);

#ifdef __cplusplus
}
#endif

#endif
