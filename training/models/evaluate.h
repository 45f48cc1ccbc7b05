// SPDX-License-Identifier: Apache-2.0
// How well a model does on samples: the one evaluation of train, predict, reports and the C API.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "training/models/model.h"

namespace motley {

// Means over samples. What does not apply, or is not defined on these samples, is not there.
struct Evaluation {
  uint64_t samples = 0;
  // What training minimises, without L2: the negative logarithm of the probability of the right
  // class; the hinge loss; for real numbers half of the squared error.
  double loss = 0;
  // The same with the model's class weights: what progress is judged by. No score uses them.
  double weighted_loss = 0;

  // Of classifiers.
  std::optional<double> accuracy;
  std::optional<double> f1;        // Macro: the mean over the classes that occur.
  std::optional<double> log_loss;  // Of models whose scores are probabilities: not hinge.
  std::optional<double> auc;       // Two classes, both there: area under the ROC curve.
  // With up to kMostConfused classes: [right class][predicted class] samples.
  std::vector<uint64_t> confusion;

  // Of real numbers.
  std::optional<double> r2;  // Where the labels are not all the same.
  std::optional<double> rmse;
  std::optional<double> mae;
};
inline constexpr uint32_t kMostConfused = 32;
// With more samples of two classes there is no AUC: its scores are kept and sorted.
inline constexpr uint64_t kMostRanked = uint64_t{1} << 24;

// Collects outputs of a model row by row. Plain bookkeeping.
class Evaluator {
 public:
  // `class_weights`: as of ModelSpec.
  Evaluator(Loss loss, uint32_t classes, std::vector<float> class_weights = {});

  // What the model makes of one sample: a score for each class, or one value (see Model::Forward).
  void Add(std::span<const float> scores, float label);
  // At least one sample was added.
  Evaluation Finish() const;

 private:
  struct Ranked {
    float score = 0;  // Of class 1 against class 0.
    bool positive = false;
  };
  void AddClass(std::span<const float> scores, float label);
  void AddNumber(double output, double label);
  double F1() const;
  std::optional<double> Auc() const;

  Loss loss_kind_;
  uint32_t classes_;  // 0: real numbers.
  std::vector<float> class_weights_;
  uint64_t samples_ = 0;
  double loss_ = 0;
  double weighted_loss_ = 0, weight_ = 0;
  uint64_t correct_ = 0;
  std::vector<uint64_t> labels_, predicted_, right_;  // By class.
  std::vector<uint64_t> confusion_;
  std::vector<Ranked> ranked_;
  bool rankable_ = true;
  double error_squares_ = 0, error_sizes_ = 0;
  double label_mean_ = 0, label_squares_ = 0;  // The latter around the mean (Welford 1962).
};

// Over a whole data set, in blocks. kCancelled when it is unwanted.
Result<Evaluation> Evaluate(const Model& model, Device& device, std::span<const float> parameters,
                            const DataSource& data, const Unwanted& unwanted = nullptr);
Result<Evaluation> Evaluate(const Model& model, Device& device, std::span<const float> parameters,
                            const Dataset& data);

}  // namespace motley
