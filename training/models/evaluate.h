// SPDX-License-Identifier: Apache-2.0
// Evaluates a model on samples. Train, predict, reports and the C API all use this.
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

// Means over samples. A value is absent if it does not apply or these samples do not define it.
struct Evaluation {
  uint64_t samples = 0;
  // The loss that training minimises, without L2: cross entropy, the hinge loss, or for real
  // numbers half of the squared error.
  double loss = 0;
  // `loss` with the model's class weights, by which progress is judged. Scores are never weighted.
  double weighted_loss = 0;

  // Classifiers only.
  std::optional<double> accuracy;
  std::optional<double> f1;        // Macro: the mean over the classes that occur.
  std::optional<double> log_loss;  // Models whose scores are probabilities (all but hinge).
  std::optional<double> auc;       // Two classes that both occur: area under the ROC curve.
  // Numbers of samples by [right class][predicted class], for up to kMostConfused classes.
  std::vector<uint64_t> confusion;

  // Regression only.
  std::optional<double> r2;  // Absent if all labels are equal.
  std::optional<double> rmse;
  std::optional<double> mae;
};
inline constexpr uint32_t kMostConfused = 32;
// Most samples for which AUC is computed; their scores are kept and sorted.
inline constexpr uint64_t kMostRanked = uint64_t{1} << 24;

// Accumulates the outputs of a model, row by row. Pure.
class Evaluator {
 public:
  // `class_weights` are those of ModelSpec.
  Evaluator(Loss loss, uint32_t classes, std::vector<float> class_weights = {});

  // Adds a sample's output: a score for each class, or one value (see Model::Forward).
  void Add(std::span<const float> scores, float label);
  // Requires at least one sample.
  Evaluation Finish() const;

 private:
  struct Ranked {
    float score = 0;  // Score of class 1 minus that of class 0.
    bool positive = false;
  };
  void AddClass(std::span<const float> scores, float label);
  void AddNumber(double output, double label);
  double F1() const;
  std::optional<double> Auc() const;

  Loss loss_kind_;
  uint32_t classes_;  // 0: regression.
  std::vector<float> class_weights_;
  uint64_t samples_ = 0;
  double loss_ = 0;
  double weighted_loss_ = 0, weight_ = 0;
  uint64_t correct_ = 0;
  std::vector<uint64_t> labels_, predicted_, right_;  // Counts by class.
  std::vector<uint64_t> confusion_;
  std::vector<Ranked> ranked_;
  bool rankable_ = true;
  double error_squares_ = 0, error_sizes_ = 0;
  double label_mean_ = 0, label_squares_ = 0;  // Squares are around the mean (Welford 1962).
};

// Evaluates a whole data set in blocks. kCancelled once `unwanted` returns true.
Result<Evaluation> Evaluate(const Model& model, Device& device, std::span<const float> parameters,
                            const DataSource& data, const Unwanted& unwanted = nullptr);
Result<Evaluation> Evaluate(const Model& model, Device& device, std::span<const float> parameters,
                            const Dataset& data);

}  // namespace motley
