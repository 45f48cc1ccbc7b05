/* SPDX-License-Identifier: Apache-2.0 */
/** Testing a saved model, and predictions of one. Any thread. */
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
 * What the last motley_evaluate or motley_predict of this thread found, with the confusion matrix,
 * as the JSON object that `motley predict --json` prints. Lives until the thread's next one of
 * them; NULL when that failed, or evaluated nothing.
 */
MOTLEY_API const char* motley_last_evaluation(void);

typedef struct motley_predict_options {
  uint32_t struct_size;
  uint32_t probabilities; /**< 1: also those of all classes (in NPY alone). */
  const char* model;      /**< A safetensors file. */
  const char* data;       /**< As of motley_evaluate; samples may lack their labels. */
  const char* label;      /**< May be NULL. */
  /** "FILE.npy"; any other name is CSV; "-" is CSV on the standard output. */
  const char* out;
  motley_event_callback notice; /**< Called with MOTLEY_EVENT_NOTICE, for people; may be NULL. */
  void* context;                /**< Its. */
} motley_predict_options;

#define MOTLEY_PREDICT_OPTIONS_INIT \
  { sizeof(motley_predict_options), 0, NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * Writes what a model says of each sample, in the samples' order: the class as its label stood in
 * the training data, or a number in the units of the training labels. CSV has a line of names. A
 * table's columns are found by name, in any order; one that the model needs and that is not there
 * is MOTLEY_DATA_ERROR. *evaluation (may be NULL) is as of motley_evaluate where all samples have
 * labels; else its count is 0. *count (may be NULL) is how many predictions there are.
 */
MOTLEY_API motley_status motley_predict(const motley_predict_options* options,
                                        motley_evaluation* evaluation, uint64_t* count);

#ifdef __cplusplus
}
#endif

#endif
