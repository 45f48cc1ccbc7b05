// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/sequence/local_rounds.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace motley {

LocalRounds::LocalRounds(JobWorld& world)
    : SequentialTraining(world), values_(FirstVersion()), outer_(values_.size()) {}

void LocalRounds::OnEvent(const JobEvent& event) {
  if (const auto* joined = std::get_if<event::WorkerJoined>(&event)) {
    velocity_.erase(joined->worker);  // Another process has learned nothing yet.
  } else if (const auto* opened = std::get_if<event::StepOpened>(&event)) {
    rows_ = opened->code.rows;
    counted_.assign(rows_.size(), true);
    owner_.clear();
    ahead_.clear();
  } else if (const auto* assigned = std::get_if<event::RowAssigned>(&event)) {
    Assigned(*assigned);
  } else if (const auto* ended = std::get_if<event::StepApproximated>(&event)) {
    for (size_t row = 0; row < rows_.size(); ++row) counted_[row] = ended->sum.weights[row] != 0;
  } else if (const auto* decoded = std::get_if<event::StepDecoded>(&event)) {
    Decoded(*decoded);
  }
}

void LocalRounds::Assigned(const event::RowAssigned& assigned) {
  EXPECT_FALSE(owner_.contains(assigned.row)) << "one worker has a row, and no other";
  owner_[assigned.row] = assigned.worker;
  ahead_[assigned.row] = assigned.ahead;
  rows_ahead_ += assigned.ahead ? 1 : 0;
}

size_t LocalRounds::AddAnswer(StepId round, RowId row, Values& sum) {
  const size_t samples = SamplesOf(round, rows_[row]).size();
  const uint32_t batch = options().local.batch;
  const uint32_t turns = std::max<uint32_t>(1, (samples + batch / 2) / batch);
  fewest_ = std::min(fewest_, turns);
  const Turns all{round, row, turns};
  Values& velocity = velocity_[owner_.at(row)];
  velocity.resize(values_.size());
  Values now = values_;
  RoundEnd& end = ends_[owner_.at(row)];
  uint32_t ahead = 0;
  if (ahead_.at(row)) {
    ahead = std::min(options().local.ahead, turns - 1);
    ExpectSameRow(round, row, end);
    Values own = end.values;
    Take(all, 0, ahead, velocity, own);
    for (size_t i = 0; i < now.size(); ++i) now[i] += own[i] - end.values[i];
  }
  Take(all, ahead, turns, velocity, now);
  for (size_t i = 0; i < now.size(); ++i) {
    sum[i] += static_cast<double>(samples) * (values_[i] - now[i]);
  }
  end = {round, rows_[row], now};
  return samples;
}

void LocalRounds::Take(const Turns& all, uint32_t from, uint32_t to, Values& velocity,
                       Values& values) const {
  const OptimizerOptions& own = options().local.optimizer;
  const double momentum = own.name == "sgd" ? 0 : own.momentum;
  for (uint32_t turn = from; turn < to; ++turn) {
    const std::vector<uint32_t> batch = SamplesOf(all.round, rows_[all.row], turn, all.count);
    const Values gradient = Gradient(values, batch);
    for (size_t i = 0; i < values.size(); ++i) {
      const double mean = batch.empty() ? 0 : gradient[i] / static_cast<double>(batch.size());
      velocity[i] = momentum * velocity[i] + mean;
      values[i] -= own.learning_rate * velocity[i];
    }
  }
}

void LocalRounds::ExpectSameRow(StepId round, RowId row, const RoundEnd& last) const {
  ASSERT_EQ(last.values.size(), values_.size()) << "no answer of the worker has counted";
  EXPECT_EQ(last.round + 1, round);
  ASSERT_EQ(last.row.size(), rows_[row].size());
  for (size_t i = 0; i < last.row.size(); ++i) {
    EXPECT_EQ(last.row[i].partition, rows_[row][i].partition);
  }
}

void LocalRounds::Decoded(const event::StepDecoded& decoded) {
  ASSERT_EQ(decoded.step, updates()) << "rounds follow each other";
  ExpectNewest(decoded.parameters);
  Values change(values_.size());
  size_t samples = 0;
  for (RowId row = 0; row < rows_.size(); ++row) {
    if (counted_[row] && !rows_[row].empty()) samples += AddAnswer(decoded.step, row, change);
  }
  ASSERT_GT(samples, 0u);
  for (double& value : change) value /= static_cast<double>(samples);
  ExpectMean(decoded.sum, change);
  const OptimizerOptions& rule = options().optimizer;
  for (size_t i = 0; i < values_.size(); ++i) {
    outer_[i] = rule.momentum * outer_[i] + change[i];
    values_[i] -= rule.learning_rate * (change[i] + rule.momentum * outer_[i]);
  }
  CountUpdate(std::count(counted_.begin(), counted_.end(), false) > 0);
}

}  // namespace motley
