/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The work that a trainer gets (trainer.h): parameters, samples, and the sums to add to.
 */
#ifndef MOTLEY_WORK_H
#define MOTLEY_WORK_H

#include <motley/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Samples in memory, in a job with data (motley_job_options.data). The server or all-in-one process
 * reads the data and sends the samples to the workers. Features are the file's own numbers unless
 * motley_job_options.scale is set, with three exceptions: pixels of IDX files are divided by 255; a
 * text column of a CSV file becomes one feature per category (1 or 0); and a missing number in a
 * CSV file becomes its column's median over the training samples (see `missing`). Targets are never
 * standardised.
 *
 * Dense: `features` holds rows x columns_count values, row by row. Sparse (CSR): row r has the
 * entries row_begin[r] up to, but not including, row_begin[r + 1] of `columns` and `features`.
 */
typedef struct motley_batch {
  uint32_t struct_size;
  uint32_t columns_count; /**< Number of features of a sample. */
  uint64_t rows;
  const float* features;     /**< Dense values, or the values of sparse entries. */
  const uint64_t* row_begin; /**< rows + 1 numbers; NULL when dense. */
  const uint32_t* columns;   /**< Ascending within a row; NULL when dense. */
  const float* labels;       /**< rows numbers, as in the file; with `task` "classify"
                                  the numbers of the classes, from 0. */
} motley_batch;

/** The library's state of a piece of work. */
typedef struct motley_work_state motley_work_state;

/** One piece of work; it belongs to the library and is valid during the call of `accumulate`. */
typedef struct motley_work {
  uint32_t struct_size;
  uint32_t first_partition; /**< The samples are in partitions first_partition up to, */
  uint32_t end_partition;   /**< but not including, end_partition. */
  uint64_t step;
  uint64_t version;        /**< Version of the parameters: equal numbers mean equal values in one
                                `job`. */
  const float* parameters; /**< parameter_count floats. */
  uint64_t parameter_count;
  const uint64_t* samples; /**< sample_count numbers within 0 .. N-1, from this step's batch. */
  uint64_t sample_count;
  const motley_batch* batch; /**< The same samples in the same order; NULL without data. */
  double coefficient;
  float* sum;               /**< parameter_count floats; add to them. */
  double* loss;             /**< Add coefficient * (sum of the samples' losses). */
  motley_work_state* state; /**< For the functions below. */
  /**
   * The total weight of the work's samples: `sample_count` at the start of the call. If your loss
   * is a sum over something else (tokens, weighted samples), set it to their number or weight,
   * without the coefficient. It must be finite and not negative. Gradient and loss must then be
   * weighted sums as well. The update divides by the weight of the whole batch; a batch of weight 0
   * has the gradient 0.
   */
  double* weight;
  /** Numbers one run of the server. A worker that finds its server again after that was restarted
      gets work of another `job`, whose versions may have other values. */
  uint64_t job;
} motley_work;

/**
 * 1 once the result is no longer needed: return MOTLEY_CANCELLED soon. May be called from any
 * thread during the call of `accumulate`.
 */
MOTLEY_API int motley_work_cancelled(const motley_work* work);

/**
 * Reports that the first `samples_done` samples are in the sum. Optional; from the calling thread
 * only. A worker that reports progress is not taken for dead during a long call.
 */
MOTLEY_API void motley_work_progress(const motley_work* work, uint64_t samples_done);

/**
 * Reports that the values [begin, end) of the sum are final, and loss and weight as well. The
 * values may be sent while the call still computes others, so they must not be used any more.
 * Optional; from any thread during the call of `accumulate`, one at a time. A loss or weight that
 * changes later ends the worker. MOTLEY_INVALID_ARGUMENT: no such range.
 */
MOTLEY_API motley_status motley_work_ready(const motley_work* work, uint64_t begin, uint64_t end);

/** Samples of one partition within a piece of work. Runs of the same group have the same weights.
 */
typedef struct motley_run {
  uint64_t first; /**< The samples are samples[first] up to, but not including, */
  uint64_t count; /**< samples[first + count]. */
  uint32_t partition;
  uint32_t group;        /**< From 0. */
  const double* weights; /**< One for each of the vectors. */
} motley_run;

/**
 * All samples of a piece of work at once, for trainers that cut it themselves. For each v below
 * `vectors`,
 *
 *     sums[v] += SUM over runs r of runs[r].weights[v] * SUM over its samples of the gradient.
 *
 * So one pass forward and `vectors` passes backward are enough. It belongs to the library and is
 * valid during the call of `accumulate_weighted`.
 */
typedef struct motley_weighted_work {
  uint32_t struct_size;
  uint32_t vectors; /**< 1 for most codes; more for codes with complex numbers or parts. */
  uint64_t step;
  uint64_t version; /**< As motley_work.version. */
  /** The job's seed. Everything random (dropout, augmentation) must follow from seed, step and
      partition or sample alone, because several workers may compute the same samples. */
  uint64_t seed;
  const float* parameters; /**< parameter_count floats. */
  uint64_t parameter_count;
  const uint64_t* samples; /**< sample_count numbers within 0 .. N-1, run after run. */
  uint64_t sample_count;
  const motley_batch* batch; /**< The same samples in the same order; NULL without data. */
  const motley_run* runs;
  uint64_t run_count;
  float* const* sums; /**< `vectors` arrays of parameter_count floats; add to them. */
  double* losses;     /**< One for each run: add the sum of the samples' losses, unweighted. */
  double* weights;    /**< One for each run: the total weight of its samples, as motley_work.weight.
                           The loss and weight of a whole group may stand at one of its runs; then
                           set the weights of the others to 0. */
  motley_work_state* state; /**< For the functions below. */
  uint64_t job;             /**< As motley_work.job. */
} motley_weighted_work;

/** motley_work_cancelled for a motley_weighted_work. */
MOTLEY_API int motley_weighted_cancelled(const motley_weighted_work* work);
/** motley_work_progress for a motley_weighted_work. */
MOTLEY_API void motley_weighted_progress(const motley_weighted_work* work, uint64_t samples_done);
/** motley_work_ready for a motley_weighted_work: a range of all sums, and all losses and weights.
 */
MOTLEY_API motley_status motley_weighted_ready(const motley_weighted_work* work, uint64_t begin,
                                               uint64_t end);

#ifdef __cplusplus
}
#endif

#endif
