// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "training/model.h"
#include "training/model_session.h"

namespace motley {
namespace {

constexpr size_t kBlockRows = 1024;

struct RowResult {
  double loss = 0;
  bool correct = false;
};

RowResult SquaredRow(float output, float label) {
  const double error = static_cast<double>(output) - label;
  return {.loss = error * error / 2};
}

RowResult LogisticRow(float score, float label) {
  const bool positive = label > 0.5f;
  const double margin = positive ? score : -score;
  // log(1 + exp(-m)) without overflow.
  const double loss = std::max(-margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
  return {.loss = loss, .correct = std::isfinite(score) && (score > 0) == positive};
}

RowResult HingeRow(float score, float label) {
  const bool positive = label > 0.5f;
  const double margin = positive ? score : -score;
  return {.loss = std::max(1 - margin, 0.0),
          .correct = std::isfinite(score) && (score > 0) == positive};
}

RowResult SoftmaxRow(std::span<const float> scores, float label) {
  const auto best = std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - *best);
  const auto wanted = static_cast<size_t>(label);
  const bool finite =
      std::all_of(scores.begin(), scores.end(), [](float score) { return std::isfinite(score); });
  return {.loss = std::log(sum) + *best - scores[wanted],
          .correct = finite && static_cast<size_t>(best - scores.begin()) == wanted};
}

RowResult ResultOf(Loss loss, std::span<const float> scores, float label) {
  switch (loss) {
    case Loss::kSquared: return SquaredRow(scores[0], label);
    case Loss::kLogistic: return LogisticRow(scores[0], label);
    case Loss::kHinge: return HingeRow(scores[0], label);
    case Loss::kSoftmax: break;
  }
  return SoftmaxRow(scores, label);
}

}  // namespace

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
  double loss = 0;
  uint64_t correct = 0;
  for (size_t begin = 0; begin < shape.rows; begin += kBlockRows) {
    if (unwanted && unwanted()) return Status::Cancelled("the evaluation was stopped");
    MOTLEY_ASSIGN_OR_RETURN(const Dataset block,
                            data.Range(begin, std::min<size_t>(begin + kBlockRows, shape.rows)));
    MOTLEY_RETURN_IF_ERROR(session.Forward(parameters, 0, block, outputs));
    for (size_t row = 0; row < block.rows(); ++row) {
      const auto scores = std::span<const float>(outputs).subspan(row * columns, columns);
      const RowResult result = ResultOf(model.loss(), scores, block.label[row]);
      loss += result.loss;
      correct += result.correct ? 1 : 0;
    }
  }
  const auto count = static_cast<double>(shape.rows);
  return Evaluation{.loss = loss / count, .accuracy = static_cast<double>(correct) / count};
}

Result<Evaluation> Evaluate(const Model& model, Device& device, std::span<const float> parameters,
                            const Dataset& data) {
  return Evaluate(model, device, parameters, MemorySource(data));
}

}  // namespace motley
