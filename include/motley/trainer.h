/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Your own gradient, in the place of a built-in model.
 *
 * The samples 0 .. N-1 of a job are cut into partitions; the batch of a step is a function of seed
 * and step alone, whatever the partitions. A worker is asked for weighted sums of partial
 * gradients,
 *
 *     sum += coefficient * SUM over the work's samples of the gradient of your loss,
 *
 * at the parameters of one version. The server puts the exact batch gradient together from whoever
 * answers (docs/explanation/design.md), divides by the batch's weight, adds L2 and applies the
 * optimizer. The weight is the number of samples, unless your trainer says otherwise
 * (motley_work.weight): a mean over tokens, or over weighted samples, is then exact, whoever
 * computed which of them.
 */
#ifndef MOTLEY_TRAINER_H
#define MOTLEY_TRAINER_H

#include <motley/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Samples in memory, when the job has data (motley_job_options.data: the server or all-in-one
 * process reads it and sends samples to the workers). Features are the file's own numbers, unless
 * motley_job_options.scale says otherwise, with three exceptions: pixels of IDX files are divided
 * by 255, a text column of a CSV file is one feature per category (1 or 0), and a missing number of
 * it is its column's median (of the samples that train; see `missing`). Targets are never
 * standardised. Dense: `features` holds rows x columns values, row by row. Sparse
 * (CSR): row r has the entries row_begin[r] up to, not including, row_begin[r + 1] of `columns` and
 * `features`.
 */
typedef struct motley_batch {
  uint32_t struct_size;
  uint32_t columns_count; /**< Features of a sample. */
  uint64_t rows;
  const float* features;     /**< Dense values, or the values of sparse entries. */
  const uint64_t* row_begin; /**< rows + 1 numbers; NULL when dense. */
  const uint32_t* columns;   /**< Ascending within a row; NULL when dense. */
  const float* labels;       /**< rows numbers, as the file has them; with `task`
                                    "classify" the classes' numbers, from 0. */
} motley_batch;

/** The library's side of a piece of work. */
typedef struct motley_work_state motley_work_state;

/** One piece of work, lent to `accumulate` for the length of the call. */
typedef struct motley_work {
  uint32_t struct_size;
  uint32_t first_partition; /**< The samples are of partitions [first_partition, */
  uint32_t end_partition;   /**< end_partition). */
  uint64_t step;
  uint64_t version;        /**< Of the parameters: the same number means the same values. */
  const float* parameters; /**< parameter_count floats. */
  uint64_t parameter_count;
  const uint64_t* samples; /**< sample_count numbers within 0 .. N-1, of this step's batch. */
  uint64_t sample_count;
  const motley_batch* batch; /**< The same samples, in order; NULL for a job without data. */
  double coefficient;
  float* sum;               /**< parameter_count floats, to be added to. */
  double* loss;             /**< Add coefficient * (sum of the samples' losses). */
  motley_work_state* state; /**< For the two functions below. */
  /**
   * What the work's samples weigh together: `sample_count` when you are called. Set it, if your
   * loss is a sum over something else (tokens, weighted samples), to how many of those there are,
   * or what they weigh: finite, not negative, and not multiplied by the coefficient. Gradient and
   * loss are then the weighted sums. The update divides by the sum of the weights of the whole
   * batch; a batch that weighs 0 has the gradient 0.
   */
  double* weight;
} motley_work;

/**
 * 1 once nobody wants the result any more: return MOTLEY_CANCELLED soon. From any thread, during
 * the call of `accumulate`.
 */
MOTLEY_API int motley_work_cancelled(const motley_work* work);

/**
 * Tells that the first `samples_done` samples are in the sum. Optional; from the calling thread
 * only. A worker that tells so is not taken for silent while a call takes long.
 */
MOTLEY_API void motley_work_progress(const motley_work* work, uint64_t samples_done);

/**
 * A trainer: callbacks and what they work on. `context` is handed to each. Callbacks return
 * MOTLEY_OK or any other number, which ends the worker (accumulate, hold) or the job (initialize)
 * with MOTLEY_CALLBACK. They must not call motley_job_* of their own job, save motley_job_stop, and
 * throw nothing: an exception that leaves one counts as a failure.
 */
typedef struct motley_trainer {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  void* context;
  uint64_t parameter_count; /**< At least 1. */

  /**
   * Worker. Adds to work->sum and work->loss, and sets work->weight where samples do not weigh 1
   * each. On the worker's compute thread, one call at a time for each worker; the workers of an
   * all-in-one job call at the same time, from different threads. An all-in-one job, and a server
   * that has the data, also check some steps by it, from another thread, unless there is a `hold`.
   * The result must depend on the samples and parameters alone, else who answers would change the
   * model.
   */
  motley_status (*accumulate)(void* context, const motley_work* work);

  /** Server; may be NULL (all 0). Fills the first version of the parameters, once. */
  motley_status (*initialize)(void* context, uint64_t seed, float* parameters,
                              uint64_t parameter_count);

  /**
   * Worker; may be NULL. The samples [first_sample, first_sample + sample_count) are now this
   * worker's to work on, before any work on them: load them. On the compute thread.
   */
  motley_status (*hold)(void* context, uint32_t partition, uint64_t first_sample,
                        uint64_t sample_count);
} motley_trainer;

#define MOTLEY_TRAINER_INIT \
  { sizeof(motley_trainer), 0, NULL, 0, NULL, NULL, NULL }

#ifdef __cplusplus
}
#endif

#endif
