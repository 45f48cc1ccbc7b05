// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/sequence/shared_steps.h"

#include <gtest/gtest.h>

#include "tests/training/reference.h"

namespace motley {

SharedSteps::SharedSteps(JobWorld& world, double rate_for)
    : SequentialTraining(world),
      rate_for_(rate_for),
      values_(FirstVersion()),
      first_(values_.size()),
      second_(values_.size()) {}

void SharedSteps::OnEvent(const JobEvent& event) {
  if (const auto* opened = std::get_if<event::StepOpened>(&event)) {
    rows_ = opened->code.rows;
    counted_.reset();
  } else if (const auto* ended = std::get_if<event::StepApproximated>(&event)) {
    counted_.emplace();
    for (const double weight : ended->sum.weights) counted_->push_back(weight != 0);
  } else if (const auto* decoded = std::get_if<event::StepDecoded>(&event)) {
    Decoded(*decoded);
  }
}

void SharedSteps::Decoded(const event::StepDecoded& decoded) {
  ASSERT_EQ(decoded.step, updates()) << "steps follow each other";
  if (!decoded.parameters.empty()) ExpectNewest(decoded.parameters);
  const size_t partitions = schedule().partition_sizes().size();
  std::vector<bool> present(partitions, !counted_);
  for (RowId row = 0; counted_ && row < rows_.size(); ++row) {
    for (const CodeEntry& entry : rows_[row]) {
      if (counted_->at(row)) present[entry.partition] = true;
    }
  }
  std::vector<CodeEntry> parts;
  for (PartitionId p = 0; p < partitions; ++p) {
    if (present[p]) parts.push_back({p, 1});
  }
  ASSERT_FALSE(parts.empty());
  // The sum of the partitions that came stands for all of them.
  const std::vector<uint32_t> samples = SamplesOf(decoded.step, parts);
  const double whole = schedule().batch_size(decoded.step);
  const double scale = static_cast<double>(partitions) / static_cast<double>(parts.size());
  Values mean = Gradient(values_, samples);
  for (double& value : mean) value *= scale / whole;
  ExpectMean(decoded.sum, mean);
  OptimizerOptions rule = options().optimizer;
  if (rate_for_ > 0) rule.learning_rate *= static_cast<double>(samples.size()) / rate_for_;
  reference::Update(rule, static_cast<double>(updates() + 1), mean, first_, second_, values_);
  CountUpdate(parts.size() < partitions);
}

}  // namespace motley
