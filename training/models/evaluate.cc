// SPDX-License-Identifier: Apache-2.0
#include "training/models/evaluate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "training/models/model_session.h"

namespace motley {
namespace {

constexpr size_t kBlockRows = 1024;

// log(1 + exp(-margin)) without overflow.
double LogisticLoss(double margin) {
  return std::max(-margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
}

double SoftmaxLoss(std::span<const float> scores, size_t wanted) {
  const double best = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - best);
  return std::log(sum) + best - scores[wanted];
}

double LossOf(Loss loss, std::span<const float> scores, float label) {
  if (loss == Loss::kSoftmax) return SoftmaxLoss(scores, static_cast<size_t>(label));
  const double margin = label > 0.5f ? scores[0] : -scores[0];
  return loss == Loss::kHinge ? std::max(1 - margin, 0.0) : LogisticLoss(margin);
}

bool AllFinite(std::span<const float> scores) {
  return std::all_of(scores.begin(), scores.end(),
                     [](float score) { return std::isfinite(score); });
}

size_t ClassOf(std::span<const float> scores) {
  if (scores.size() == 1) return scores[0] > 0 ? 1 : 0;
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace

Evaluator::Evaluator(Loss loss, uint32_t classes, std::vector<float> class_weights)
    : loss_kind_(loss),
      classes_(classes),
      class_weights_(std::move(class_weights)),
      labels_(classes),
      predicted_(classes),
      right_(classes) {
  if (classes <= kMostConfused) confusion_.resize(size_t{classes} * classes);
}

void Evaluator::Add(std::span<const float> scores, float label) {
  ++samples_;
  if (classes_ == 0) return AddNumber(scores[0], label);
  AddClass(scores, label);
}

void Evaluator::AddClass(std::span<const float> scores, float label) {
  const double loss = LossOf(loss_kind_, scores, label);
  const auto wanted = static_cast<size_t>(label);
  loss_ += loss;
  if (!class_weights_.empty()) {
    weighted_loss_ += class_weights_[wanted] * loss;
    weight_ += class_weights_[wanted];
  }
  ++labels_[wanted];
  if (!AllFinite(scores)) {  // The model predicts nothing.
    rankable_ = false;
    return;
  }
  const size_t found = ClassOf(scores);
  ++predicted_[found];
  if (found == wanted) {
    ++correct_;
    ++right_[wanted];
  }
  if (!confusion_.empty()) ++confusion_[wanted * classes_ + found];
  if (classes_ != 2) return;
  rankable_ = rankable_ && ranked_.size() < kMostRanked;
  if (!rankable_) return;
  ranked_.push_back({scores.size() == 1 ? scores[0] : scores[1] - scores[0], wanted == 1});
}

void Evaluator::AddNumber(double output, double label) {
  const double error = output - label;
  loss_ += error * error / 2;
  error_squares_ += error * error;
  error_sizes_ += std::abs(error);
  const double off = label - label_mean_;
  label_mean_ += off / static_cast<double>(samples_);
  label_squares_ += off * (label - label_mean_);
}

double Evaluator::F1() const {
  double sum = 0;
  uint32_t there = 0;
  for (uint32_t i = 0; i < classes_; ++i) {
    const uint64_t both = labels_[i] + predicted_[i];
    if (both == 0) continue;
    ++there;
    sum += 2 * static_cast<double>(right_[i]) / static_cast<double>(both);
  }
  return sum / there;
}

// Probability that a sample of class 1 scores above one of class 0, where ties count half (Mann and
// Whitney 1947).
std::optional<double> Evaluator::Auc() const {
  if (!rankable_ || classes_ != 2 || labels_[0] == 0 || labels_[1] == 0) return std::nullopt;
  std::vector<Ranked> sorted = ranked_;
  std::sort(sorted.begin(), sorted.end(),
            [](const Ranked& a, const Ranked& b) { return a.score < b.score; });
  double above = 0, negatives = 0;
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin;
    double tied[2] = {0, 0};
    while (end < sorted.size() && sorted[end].score == sorted[begin].score) {
      ++tied[sorted[end++].positive ? 1 : 0];
    }
    above += tied[1] * (negatives + tied[0] / 2);
    negatives += tied[0];
    begin = end;
  }
  return above / (static_cast<double>(labels_[0]) * static_cast<double>(labels_[1]));
}

Evaluation Evaluator::Finish() const {
  MOTLEY_ASSERT(samples_ > 0);
  const auto count = static_cast<double>(samples_);
  Evaluation found{.samples = samples_, .loss = loss_ / count};
  found.weighted_loss = weight_ > 0 ? weighted_loss_ / weight_ : found.loss;
  if (classes_ == 0) {
    if (label_squares_ > 0) found.r2 = 1 - error_squares_ / label_squares_;
    found.rmse = std::sqrt(error_squares_ / count);
    found.mae = error_sizes_ / count;
    return found;
  }
  found.accuracy = static_cast<double>(correct_) / count;
  found.f1 = F1();
  if (loss_kind_ != Loss::kHinge) found.log_loss = found.loss;
  found.auc = Auc();
  found.confusion = confusion_;
  return found;
}

Result<Evaluation> Evaluate(const Model& model, Device& device, std::span<const float> parameters,
                            const DataSource& data, const Unwanted& unwanted) {
  const DataShape shape = data.shape();
  if (shape.rows == 0) return Status::InvalidArgument("there are no samples to evaluate on");
  if (shape.classes != model.spec().classes) {
    return Status::InvalidArgument("the data has another number of classes than the model");
  }
  const uint32_t columns = model.outputs();
  std::vector<float> outputs;
  ModelSession session(device, model);
  Evaluator evaluator(model.loss(), shape.classes, model.spec().class_weights);
  for (size_t begin = 0; begin < shape.rows; begin += kBlockRows) {
    if (unwanted && unwanted()) return Status::Cancelled("the evaluation was stopped");
    MOTLEY_ASSIGN_OR_RETURN(const Dataset block,
                            data.Range(begin, std::min<size_t>(begin + kBlockRows, shape.rows)));
    MOTLEY_RETURN_IF_ERROR(session.Forward(parameters, 0, block, outputs));
    for (size_t row = 0; row < block.rows(); ++row) {
      evaluator.Add(std::span<const float>(outputs).subspan(row * columns, columns),
                    block.label[row]);
    }
  }
  return evaluator.Finish();
}

Result<Evaluation> Evaluate(const Model& model, Device& device, std::span<const float> parameters,
                            const Dataset& data) {
  return Evaluate(model, device, parameters, MemorySource(data));
}

}  // namespace motley
