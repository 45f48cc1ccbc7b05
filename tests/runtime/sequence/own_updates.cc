// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/sequence/own_updates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/training/reference.h"

namespace motley {

OwnUpdates::OwnUpdates(JobWorld& world, Schedule factor)
    : SequentialTraining(world),
      factor_(factor),
      versions_{FirstVersion()},
      first_(newest().size()),
      second_(newest().size()),
      squares_(newest().size()),
      behind_(newest()) {}

void OwnUpdates::OnEvent(const JobEvent& event) {
  if (const auto* opened = std::get_if<event::StepOpened>(&event)) {
    parts_[opened->step] = opened->code.rows.front();
  } else if (const auto* decoded = std::get_if<event::StepDecoded>(&event)) {
    Decoded(*decoded);
  }
}

double OwnUpdates::RateOf(size_t samples, uint64_t staleness) const {
  double rate = options().optimizer.learning_rate;
  if (options().old_gradients == OldGradients::kRate) {
    rate /= static_cast<double>(std::max<uint64_t>(staleness, 1));
  }
  return factor_ == nullptr ? rate : rate * factor_(versions_.size(), samples);
}

void OwnUpdates::DivideByGaps(const Values& then, Values& mean) const {
  const double whole = 1 - std::pow(0.999, static_cast<double>(versions_.size() - 1));
  for (size_t i = 0; i < mean.size(); ++i) {
    const double gap = std::abs(newest()[i] - then[i]);
    mean[i] /= 1 + gap / (largest_ * (std::sqrt(squares_[i] / whole) + 1e-8));
  }
}

SequentialTraining::Values OwnUpdates::WithOwnMomentum(WorkerId worker, const Values& mean,
                                                       double rate) {
  const double m = options().optimizer.momentum;
  Values& velocity = velocities_[worker];
  velocity.resize(mean.size());
  for (size_t i = 0; i < mean.size(); ++i) velocity[i] = m * velocity[i] + mean[i];
  Values next = newest();
  for (size_t i = 0; i < mean.size(); ++i) {
    if (factor_ != nullptr) {  // With a rate that changes, DANA-Slim's form says what is meant.
      next[i] -= rate * (mean[i] + m * velocity[i]);
      continue;
    }
    behind_[i] -= rate * velocity[i];
    double ahead = 0;
    for (const auto& [other, own] : velocities_) ahead += own[i];
    next[i] = behind_[i] - rate * m * ahead;
  }
  return next;
}

void OwnUpdates::Decoded(const event::StepDecoded& decoded) {
  ASSERT_LT(decoded.version, versions_.size());
  ASSERT_TRUE(applied_.insert(decoded.step).second) << "update " << decoded.step << " came twice";
  if (options().sync.in_order) {
    ASSERT_EQ(decoded.step, updates()) << "turns are in order";
  }
  ExpectNewest(decoded.parameters);
  const uint64_t staleness = versions_.size() - 1 - decoded.version;
  stale_.push_back(staleness);
  const std::vector<uint32_t> samples = SamplesOf(decoded.step, parts_.at(decoded.step));
  const double rate = RateOf(samples.size(), staleness);
  largest_ = std::max(largest_, rate);
  Values mean = Gradient(versions_[decoded.version], samples);
  for (double& value : mean) value /= static_cast<double>(samples.size());
  ExpectMean(decoded.sum, mean);
  if (options().old_gradients == OldGradients::kGap && staleness > 0) {
    DivideByGaps(versions_[decoded.version], mean);
  }
  Values next = newest();
  if (options().sync.own_momentum) {
    next = WithOwnMomentum(decoded.worker.value(), mean, rate);
  } else {
    OptimizerOptions rule = options().optimizer;
    rule.learning_rate = rate;
    reference::Update(rule, static_cast<double>(updates() + 1), mean, first_, second_, next);
  }
  for (size_t i = 0; i < next.size(); ++i) {
    const double step = (newest()[i] - next[i]) / rate;
    squares_[i] = 0.999 * squares_[i] + 0.001 * step * step;
  }
  versions_.push_back(std::move(next));
  CountUpdate(false);
}

void OwnUpdates::ExpectAtTheEnd(const JobResult& end) {
  EXPECT_EQ(world_.watcher.staleness, stale_);
  EXPECT_EQ(end.staleness.updates, options().steps);
  EXPECT_EQ(end.staleness.sum, std::accumulate(stale_.begin(), stale_.end(), uint64_t{0}));
  EXPECT_EQ(end.staleness.max, stalest());
  // The bounds that the modes promise.
  const uint64_t others = options().workers - 1;
  const SyncMode& sync = options().sync;
  uint64_t bound = options().steps;
  if (sync.in_order) bound = others;
  if (sync.bounded()) bound = others * (2 * *sync.most_ahead + 1);
  EXPECT_LE(stalest(), bound);
}

uint64_t OwnUpdates::stalest() const {
  return stale_.empty() ? 0 : *std::max_element(stale_.begin(), stale_.end());
}

void OwnUpdates::ExpectEachBatchOnce() const {
  std::map<StepId, size_t> partitions;  // By the first update of the batch.
  StepId first = 0;
  for (const auto& [update, part] : parts_) {
    if (update == first + schedule().turns(first)) first = update;
    partitions[first] += part.size();
    EXPECT_FALSE(SamplesOf(update, part).empty()) << "update " << update;
  }
  if (first + schedule().turns(first) > options().steps) partitions.erase(first);
  for (const auto& [update, count] : partitions) {
    EXPECT_EQ(count, schedule().partition_sizes().size()) << "from " << update;
  }
}

}  // namespace motley
