/* SPDX-License-Identifier: Apache-2.0 */
/** Tests a saved model, and predicts with it. These functions may be called from any thread. */
#ifndef MOTLEY_MODEL_H
#define MOTLEY_MODEL_H

#include <motley/event.h>
#include <motley/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_evaluation {
  uint32_t struct_size;
  uint32_t classifies; /**< 0: regression */
  uint64_t count;      /**< Number of samples. */
  /** Mean of what training minimises; for regression that is half of the squared error. */
  double loss;
  double accuracy; /**< Within 0 and 1; 0 for regression. */
  /* The rest is NaN for models it does not apply to, and where the samples do not define it. */
  double f1;       /**< Macro: the mean over the classes. */
  double log_loss; /**< Models whose scores are probabilities (all but hinge). */
  double auc;      /**< Two classes: area under the ROC curve. */
  double r2;       /**< Regression: 1 - squared errors / squared deviations of the labels. */
  double rmse;     /**< Regression: root of the mean squared error. */
  double mae;      /**< Regression: mean absolute error. */
} motley_evaluation;

#define MOTLEY_EVALUATION_INIT \
  { sizeof(motley_evaluation), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Tests the model in a safetensors file on labelled samples. `data` is as in motley_job_options;
 * its test samples are used if it has some. `label` may be NULL. MOTLEY_NOT_FOUND: a file is
 * missing. MOTLEY_DATA_ERROR: a file's content does not fit.
 */
MOTLEY_API motley_status motley_evaluate(const char* model, const char* data, const char* label,
                                         motley_evaluation* evaluation);

/**
 * The result of this thread's last motley_evaluate or motley_predict, with the confusion matrix:
 * the JSON object that `motley predict --json` prints. It is valid until the thread's next call of
 * either. NULL if that call failed or evaluated nothing.
 */
MOTLEY_API const char* motley_last_evaluation(void);

typedef struct motley_predict_options {
  uint32_t struct_size;
  uint32_t probabilities; /**< 1: adds those of all classes (NPY only). */
  const char* model;      /**< A safetensors file. */
  const char* data;       /**< As for motley_evaluate; labels may be missing. */
  const char* label;      /**< May be NULL. */
  /** "FILE.npy" is written as NPY, any other name as CSV; "-" is CSV on the standard output. NULL:
      nothing is written, and the model is tested as by motley_evaluate. */
  const char* out;
  motley_event_callback notice; /**< Gets MOTLEY_EVENT_NOTICE; may be NULL. */
  void* context;                /**< Passed to `notice`. */
} motley_predict_options;

#define MOTLEY_PREDICT_OPTIONS_INIT \
  { sizeof(motley_predict_options), 0, NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * Writes the model's prediction for each sample, in the samples' order. A prediction is the class,
 * written as its label stood in the training data, or a number in the units of the training labels.
 * CSV begins with a line of names.
 *
 * A table's columns are found by name and may have any order. A column that the model needs and the
 * table lacks is a MOTLEY_DATA_ERROR. *evaluation (may be NULL) is filled as by motley_evaluate if
 * all samples have labels; otherwise its count is 0. *count (may be NULL) is set to the number of
 * predictions.
 */
MOTLEY_API motley_status motley_predict(const motley_predict_options* options,
                                        motley_evaluation* evaluation, uint64_t* count);

#ifdef __cplusplus
}
#endif

#endif
