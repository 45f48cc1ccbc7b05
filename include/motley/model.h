/* SPDX-License-Identifier: Apache-2.0 */
/** Testing a saved model. Any thread. */
#ifndef MOTLEY_MODEL_H
#define MOTLEY_MODEL_H

#include <motley/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_evaluation {
  uint32_t struct_size;
  uint32_t classifies; /**< 0: regression */
  uint64_t count;      /**< Samples. */
  double loss;         /**< Mean; for regression half of the mean squared error. */
  double accuracy;     /**< Within 0 and 1; 0 for regression. */
} motley_evaluation;

#define MOTLEY_EVALUATION_INIT \
  { sizeof(motley_evaluation), 0, 0, 0, 0 }

/**
 * Tests the model of a safetensors file on labelled samples. `data` as in motley_job_options (its
 * test samples, where it has some), `label` may be NULL. MOTLEY_NOT_FOUND, MOTLEY_DATA_ERROR: a
 * file that is not there, or not what it should be.
 */
MOTLEY_API motley_status motley_evaluate(const char* model, const char* data, const char* label,
                                         motley_evaluation* evaluation);

#ifdef __cplusplus
}
#endif

#endif
