// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/sequence/sequential_training.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/sequence/local_rounds.h"
#include "tests/runtime/sequence/own_updates.h"
#include "tests/runtime/sequence/shared_steps.h"
#include "tests/training/reference.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

// Float32 rounds each value, so the difference may grow with it.
constexpr double kOfValue = 2e-5;

BatchSchedule ScheduleOf(const JobWorld& world) {
  const uint32_t partitions = PartitionCount(world.data.rows(), world.options.workers).value();
  return BatchSchedule(world.options.seed, PartitionSizes(world.data.rows(), partitions),
                       world.options.batch, world.options.turns);
}

}  // namespace

std::unique_ptr<SequentialTraining> SequentialTraining::Of(JobWorld& world) {
  const SyncMode& sync = world.options.sync;
  if (sync.local_steps > 0) return std::make_unique<LocalRounds>(world);
  if (sync.one_each) return std::make_unique<OwnUpdates>(world);
  return std::make_unique<SharedSteps>(world);
}

SequentialTraining::SequentialTraining(JobWorld& world)
    : world_(world), schedule_(ScheduleOf(world)) {
  world.watcher.on_event = [this](const JobEvent& event) { OnEvent(event); };
}

void SequentialTraining::ExpectSameToTheEnd() {
  const JobResult& end = world_.Run();
  ASSERT_TRUE(end.status.ok()) << end.status.ToString();
  ASSERT_EQ(end.steps, options().steps);
  ASSERT_EQ(updates_, options().steps);
  ExpectNewest(*end.parameters);
  ExpectAtTheEnd(end);
}

SequentialTraining::Values SequentialTraining::FirstVersion() const {
  const auto model = MakeModel(options().model);
  std::vector<float> first(model->parameter_count());
  model->Initialize(options().seed, first);
  return {first.begin(), first.end()};
}

SequentialTraining::Values SequentialTraining::Gradient(
    const Values& at, const std::vector<uint32_t>& samples) const {
  Values sum(at.size());
  reference::LossAndGradient(options().model, at, Select(world_.data, samples), sum);
  return sum;
}

std::vector<uint32_t> SequentialTraining::SamplesOf(StepId step, const std::vector<CodeEntry>& row,
                                                    uint32_t turn, uint32_t turns) const {
  std::vector<bool> has(schedule_.partition_sizes().size());
  for (const CodeEntry& entry : row) has[entry.partition] = true;
  std::vector<uint32_t> samples;
  const std::vector<uint32_t> batch = schedule_.Rows(step);
  for (size_t rank = turn; rank < batch.size(); rank += turns) {
    PartitionId p = 0;
    while (p + 1 < has.size() && schedule_.first_sample(p + 1) <= batch[rank]) ++p;
    if (has[p]) samples.push_back(batch[rank]);
  }
  return samples;
}

void SequentialTraining::ExpectNewest(std::span<const float> parameters) const {
  ASSERT_EQ(parameters.size(), newest().size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    ASSERT_NEAR(parameters[i], newest()[i], kOfValue * std::max(1.0, std::abs(newest()[i])))
        << "parameter " << i << " after " << updates_ << " updates";
  }
}

void SequentialTraining::ExpectMean(const DecodedSum& sum, const Values& mean) const {
  ASSERT_EQ(sum.gradient.size(), mean.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    ASSERT_NEAR(sum.gradient[i] / sum.weight, mean[i], kOfValue * std::max(1.0, std::abs(mean[i])))
        << "gradient " << i << " after " << updates_ << " updates";
  }
}

}  // namespace motley
