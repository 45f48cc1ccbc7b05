/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Your own gradient in place of a built-in model.
 *
 * The samples 0 .. N-1 of a job are cut into partitions. The batch of a step is a function of seed
 * and step alone. A worker is asked for weighted sums of partial gradients,
 *
 *     sum += coefficient * SUM over the work's samples of the gradient of your loss,
 *
 * at the parameters of one version. The server decodes the exact batch gradient from the answers
 * that arrive first (docs/explanation/design.md), divides it by the batch's weight, adds L2 and
 * applies the optimizer. The weight is the number of samples unless your trainer sets another
 * (motley_work.weight). So a mean over tokens or over weighted samples is exact too, no matter
 * which workers answered.
 */
#ifndef MOTLEY_TRAINER_H
#define MOTLEY_TRAINER_H

#include <motley/status.h>
#include <motley/work.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An update that the trainer applies itself; valid during the call of `apply`. */
typedef struct motley_update {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t step;         /**< Number of the update, from 0. */
  const float* gradient; /**< The mean over the batch, clipped, with L2, as the options say. */
  float* parameters;     /**< Those before the update; make them those after it. */
  uint64_t parameter_count;
  float* state; /**< state_count floats. */
  uint64_t state_count;
  double learning_rate; /**< The rate that the options, schedule and motley_job_set_rate give. */
  double batch_weight;  /**< Total weight of the batch. */
  double batch_loss;    /**< Mean loss of the batch, before the update. */
} motley_update;

/** Flags of motley_trainer. */
enum {
  /** One call of `accumulate` for each run of equal coefficients in a whole row. The trainer cuts
     the work itself, reports progress and checks for cancellation, as accumulate_weighted does.
   */
  MOTLEY_WHOLE_ROWS = 1
};

/**
 * A trainer: callbacks, and the context that is passed to each of them. Those with a status return
 * MOTLEY_OK on success. Any other number ends the worker (accumulate, accumulate_weighted, hold) or
 * the job (initialize, apply, evaluate) with MOTLEY_CALLBACK. Callbacks must not throw: an
 * exception that leaves one counts as a failure; drop and release cannot fail. They must not call
 * motley_job_* functions of their own job, except motley_job_stop.
 */
typedef struct motley_trainer {
  uint32_t struct_size;
  uint32_t flags; /**< MOTLEY_WHOLE_ROWS */
  void* context;
  uint64_t parameter_count; /**< At least 1. */

  /**
   * Worker. Adds to work->sum and work->loss, and sets work->weight if not every sample weighs 1.
   * Runs on the worker's compute thread, one call at a time per worker. The workers of an
   * all-in-one job call it at the same time from different threads. Without `hold`, an all-in-one
   * job and a server with the data also call it from another thread, to audit some steps. The
   * result must depend only on the samples and parameters; otherwise the model would depend on
   * which workers answer.
   */
  motley_status (*accumulate)(void* context, const motley_work* work);

  /** Server; may be NULL (all 0). Fills the first version of the parameters. Called once. */
  motley_status (*initialize)(void* context, uint64_t seed, float* parameters,
                              uint64_t parameter_count);

  /**
   * Worker; may be NULL. From now on this worker computes the samples first_sample up to, but not
   * including, first_sample + sample_count: load them. Called on the compute thread, before any
   * work on them.
   */
  motley_status (*hold)(void* context, uint32_t partition, uint64_t first_sample,
                        uint64_t sample_count);

  /**
   * Worker; may be NULL. In place of `accumulate`, which then only serves audits and may be NULL.
   */
  motley_status (*accumulate_weighted)(void* context, const motley_weighted_work* work);

  /**
   * Server; may be NULL. Applies each update in place of the option `optimizer`, on a thread of the
   * library that does not serve connections. Needs `reduce` star.
   */
  motley_status (*apply)(void* context, const motley_update* update);
  /** With `apply`: floats that it keeps between updates. They begin as 0, and checkpoints save
      them. */
  uint64_t state_count;

  /**
   * Server; may be NULL. Sets *loss to the loss of a version of the parameters, by which the
   * options evaluate_every, patience and schedule "plateau" then judge progress. Called on a thread
   * of its own while the job trains.
   */
  motley_status (*evaluate)(void* context, uint64_t version, const float* parameters,
                            uint64_t parameter_count, double* loss);

  /**
   * Worker; both or none may be NULL. Memory of your own for the vectors of `accumulate` and
   * `accumulate_weighted`: their `parameters`, `sum` and `sums` lie in it, also in audits. So a
   * device may copy them from pinned memory, or a network card may know them. All other pointers
   * are the library's: samples and batches, and what initialize, apply and evaluate get.
   *
   * `allocate` returns `bytes` of memory, a multiple of 64, at an address that is a multiple of 64,
   * too. The library clears it. NULL means that there is none: it ends the worker with
   * MOTLEY_RESOURCE, and in an audit only the audit. A worker allocates about six vectors, when it
   * first needs them, and uses them again for later steps. `release` frees what `allocate`
   * returned, with the same `bytes`; the last vectors go before motley_job_destroy returns. Both
   * are called from any thread, and by several at the same time.
   */
  void* (*allocate)(void* context, uint64_t bytes);
  void (*release)(void* context, void* memory, uint64_t bytes);

  /**
   * Worker; may be NULL, and needs `hold`. This worker computes nothing more on the samples, so let
   * go of them. It is called once for each `hold` that returned MOTLEY_OK, with the same numbers:
   * after the last work on them, and before they are held again. Within a job a worker keeps what
   * it holds, because later steps may need it. So `drop` comes when the job ends, and when the
   * worker loses its server. If it joins again, `hold` comes anew. No work of the worker runs
   * meanwhile. It is called on the compute thread, or at the end on the thread that runs the job,
   * before motley_job_run returns. A process that is killed drops nothing.
   */
  void (*drop)(void* context, uint32_t partition, uint64_t first_sample, uint64_t sample_count);
} motley_trainer;

#define MOTLEY_TRAINER_INIT \
  { sizeof(motley_trainer), 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL }

#ifdef __cplusplus
}
#endif

#endif
