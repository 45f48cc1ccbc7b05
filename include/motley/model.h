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
  /** Mean of what training minimises, as everywhere: for regression half of the squared error. */
  double loss;
  double accuracy; /**< Within 0 and 1; 0 for regression. */
  /* NaN where it does not apply, or these samples do not define it. */
  double f1;       /**< Macro: the mean over the classes. */
  double log_loss; /**< Of models whose scores are probabilities: not of hinge. */
  double auc;      /**< Of two classes: area under the ROC curve. */
  double r2;       /**< Regression: 1 - squared errors / squared deviations of the labels. */
  double rmse;     /**< Regression: root of the mean squared error. */
  double mae;      /**< Regression: mean absolute error. */
} motley_evaluation;

#define MOTLEY_EVALUATION_INIT \
  { sizeof(motley_evaluation), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Tests the model of a safetensors file on labelled samples. `data` as in motley_job_options (its
 * test samples, where it has some), `label` may be NULL. MOTLEY_NOT_FOUND, MOTLEY_DATA_ERROR: a
 * file that is not there, or not what it should be.
 */
MOTLEY_API motley_status motley_evaluate(const char* model, const char* data, const char* label,
                                         motley_evaluation* evaluation);

/**
 * What the last motley_evaluate of this thread found, with the confusion matrix, as the JSON object
 * that `motley predict --json` prints. Lives until the thread's next motley_evaluate; NULL when
 * that failed, or there was none.
 */
MOTLEY_API const char* motley_last_evaluation(void);

#ifdef __cplusplus
}
#endif

#endif
