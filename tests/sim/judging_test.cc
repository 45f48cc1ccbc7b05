// SPDX-License-Identifier: Apache-2.0
// Jobs that judge their progress on validation samples. The best version and the end of the job
// follow from the losses alone, even if workers are slow or lost or the job is resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "sim/sim_cluster.h"

namespace motley {
namespace {

constexpr uint32_t kFeatures = 6, kClasses = 3;
constexpr uint32_t kTraining = 90, kHeldOut = 60;  // Numbers of samples.

// Every fourth label is wrong, so a model that learns them by heart does worse on other samples.
Dataset Samples(uint64_t seed) {
  Dataset all = MakeSyntheticDataset(kTraining + kHeldOut, kFeatures, kClasses, seed);
  for (size_t i = 0; i < all.label.size(); i += 4) {
    all.label[i] = static_cast<float>((static_cast<uint32_t>(all.label[i]) + 1) % kClasses);
  }
  return all;
}

// A perceptron that learns its few samples by heart. Its validation loss rises again.
SimOptions Judged(uint64_t seed) {
  constexpr const char* kCodes[] = {"none",  "adaptive", "repetition",   "heterogeneous",
                                    "group", "cyclic",   "multi-message"};
  SimOptions options;
  options.seed = options.job.seed = seed;
  options.job.model = {"mlp:12", kFeatures, kClasses};
  options.job.workers = 5;
  options.job.code = kCodes[seed % std::size(kCodes)];
  options.job.tolerate = options.job.code == "none" ? 0 : 1;
  options.job.batch = 30;
  options.job.steps = 150;
  options.job.optimizer.name = "adam";
  options.job.optimizer.learning_rate = 0.02;
  options.job.validation.every = 2 + seed % 4;
  options.job.validation.patience = 3;
  const Dataset all = Samples(seed);
  options.job.validation.samples = std::make_shared<const MemorySource>(
      *MemorySource(all).Range(kTraining, kTraining + kHeldOut));
  for (int i = 0; i < 5; ++i) {
    WorkerProfile worker;
    worker.device.samples_per_second = 500 + 300 * i;
    worker.link = {.latency_seconds = 2e-4, .bytes_per_second = 1e7};
    options.cluster.workers.push_back(worker);
  }
  return options;
}

// Workers are slow, stop, die and come back, and the power fails. The server's evaluations take
// longer than the steps between two of them.
SimOptions Disturbed(SimOptions options) {
  for (WorkerProfile& worker : options.cluster.workers) worker.device.jitter = 0.2;
  options.audit_samples_per_second = kHeldOut / 0.05;
  options.random_faults = {.kill_every = 0.5, .restart = 1, .pause_every = 0.4, .slow_every = 0.3};
  options.random_faults.until_seconds = 5;
  options.job.checkpoint.every = 4;
  options.job.checkpoint.code = {2, 1, ErasureTechnique::kVandermonde};
  options.power_cuts.most = 2;
  options.power_cuts.mean_seconds = 0.4;
  options.power_cuts.inside_write = 0.3;
  options.power_cuts.damaged_nodes = 1;
  options.job.start_timeout = std::chrono::seconds(30);
  return options;
}

TEST(Judging, TheSameVersionIsBestWhoeverWasThere) {
  std::map<std::string, uint64_t> reached;
  uint64_t ended_early = 0, best_before_the_cut = 0, resumed_at_the_end = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const SimOptions options = Judged(seed);
    const Dataset all = Samples(seed);
    const Dataset data = *MemorySource(all).Range(0, kTraining);
    const auto calm = Simulate(options, data, nullptr);
    const auto other = Simulate(Disturbed(options), data, nullptr);
    ASSERT_TRUE(calm.ok() && other.ok());
    EXPECT_THAT(calm->violations, testing::IsEmpty());
    EXPECT_THAT(other->violations, testing::IsEmpty());
    ASSERT_TRUE(calm->job.status.ok()) << calm->job.status.ToString();
    ASSERT_TRUE(other->job.status.ok()) << other->job.status.ToString();
    if (other->job.first_step == calm->job.steps) {  // The power failed at the job's end.
      // Resuming a job that ended trains until it is judged again (docs/reference/learning.md).
      EXPECT_GT(other->job.steps, calm->job.steps);
      ++resumed_at_the_end;
      continue;
    }
    const ValidationSummary &expected = calm->job.validation, &found = other->job.validation;
    EXPECT_EQ(found.best_version, expected.best_version);
    EXPECT_NEAR(found.best_loss / expected.best_loss, 1, 1e-4);
    EXPECT_TRUE(found.kept_best && expected.kept_best);
    EXPECT_EQ(other->job.steps, calm->job.steps);
    EXPECT_EQ(other->job.stopped_early, calm->job.stopped_early);
    ASSERT_EQ(other->job.parameters->size(), calm->job.parameters->size());
    double difference = 0, length = 0;
    for (size_t i = 0; i < calm->job.parameters->size(); ++i) {
      difference += std::pow((*other->job.parameters)[i] - (*calm->job.parameters)[i], 2);
      length += std::pow((*calm->job.parameters)[i], 2);
    }
    EXPECT_LT(std::sqrt(difference / length), 1e-3);
    ended_early += calm->job.stopped_early.empty() ? 0 : 1;
    best_before_the_cut += found.best_version < other->job.first_step ? 1 : 0;
    for (const auto& [state, times] : other->reached) reached[state] += times;
  }
  // The states that this test is about did occur.
  EXPECT_LE(resumed_at_the_end, 5u);
  EXPECT_GE(ended_early, 10u);
  EXPECT_GE(best_before_the_cut, 3u) << "the checkpoint has the best version";
  EXPECT_GE(reached["resumed from a checkpoint"], 10u);
  EXPECT_GE(reached["worker lost"], 10u);
}

}  // namespace
}  // namespace motley
