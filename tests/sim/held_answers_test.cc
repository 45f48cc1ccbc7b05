// SPDX-License-Identifier: Apache-2.0
// Where answers share a thin link, those that a code does not need are held.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/sim_cluster.h"

namespace motley {
namespace {

using testing::IsEmpty;

constexpr double kVector = 2.7e6;  // Bytes.

// Eight workers and a server with links of 100 Mbit/s. Any six answers decode.
SimOptions ThinLinks() {
  SimOptions options;
  options.job.workers = 8;
  options.job.batch = 64;
  options.job.steps = 40;
  options.job.code = "cyclic";
  options.job.tolerate = 2;
  options.trainer = SimTrainer::kCostOnly;
  options.cluster.gradient_bytes = static_cast<uint64_t>(kVector);
  options.cluster.server = ServerRates{12.5e6, 12.5e6};
  for (int i = 0; i < 8; ++i) {
    WorkerProfile worker;
    worker.device = {.samples_per_second = 2000, .jitter = 0.1};
    worker.link = {.latency_seconds = 1e-3, .bytes_per_second = 12.5e6};
    options.cluster.workers.push_back(worker);
  }
  return options;
}

// What the last steps took on average. Answers are counted in vectors.
struct Cost {
  double vectors = 0, answer_seconds = 0, step_seconds = 0;
  uint64_t held = 0;
};

Cost CostOf(SimOptions options) {
  constexpr StepId kFirst = 20;  // By then the link is measured.
  std::map<StepId, std::pair<Time, Time>> answers;
  uint64_t slices = 0;
  options.on_transfer = [&](const SimTransfer& each) {
    if (!each.to_server || each.step < kFirst) return;
    ++slices;
    const auto [at, first] = answers.emplace(each.step, std::pair(each.begin, each.end));
    if (!first) at->second.second = std::max(at->second.second, each.end);
  };
  const Dataset data = MakeSyntheticDataset(400, 4, 0, 5);
  const auto result = Simulate(options, data, nullptr);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  if (!result.ok()) return {};
  EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
  EXPECT_THAT(result->violations, IsEmpty());
  const auto steps = static_cast<double>(answers.size());
  Cost cost;
  constexpr double kSlices = 3;  // A vector has three slices.
  cost.vectors = static_cast<double>(slices) / kSlices / steps;
  for (const auto& [step, span] : answers) {
    cost.answer_seconds += ToSeconds(span.second - span.first) / steps;
  }
  const std::vector<double>& seconds = result->job.step_seconds;
  cost.step_seconds = std::accumulate(seconds.begin() + kFirst, seconds.end(), 0.0) / steps;
  cost.held = result->job.scheduler.answers_held;
  return cost;
}

TEST(HeldAnswers, CostTheLinkNoMoreThanTheNeededOnes) {
  SimOptions options = ThinLinks();
  const Cost held = CostOf(options);
  options.job.grant_sends = false;
  const Cost all = CostOf(options);
  EXPECT_GT(held.held, 40u);
  EXPECT_EQ(all.held, 0u);
  EXPECT_LE(held.vectors, 1.1 * 6);
  EXPECT_GE(all.vectors, 1.15 * 6);
  EXPECT_LE(held.answer_seconds, 0.8 * all.answer_seconds);
  EXPECT_LE(held.step_seconds, 0.8 * all.step_seconds);
}

TEST(HeldAnswers, AreNoneWhereTheLinkIsWide) {
  SimOptions options = ThinLinks();
  options.cluster.server = ServerRates{10e9, 10e9};
  for (WorkerProfile& worker : options.cluster.workers) worker.link.bytes_per_second = 10e9;
  EXPECT_EQ(CostOf(options).held, 0u);
  options.cluster.server = ServerRates{1e9, 1e9};  // The workers' own links are the thin ones.
  for (WorkerProfile& worker : options.cluster.workers) worker.link.bytes_per_second = 12.5e6;
  EXPECT_EQ(CostOf(options).held, 0u);
}

// A worker that has a grant stands still while it sends.
TEST(HeldAnswers, TakeThePlaceOfThoseThatDoNotCome) {
  SimOptions options = ThinLinks();
  options.job.steps = 60;
  options.random_faults = {.kill_every = 20, .restart = 1, .pause_every = 2, .until_seconds = 90};
  uint64_t sent = 0;
  for (options.seed = 1; options.seed < 6; ++options.seed) {
    const Dataset data = MakeSyntheticDataset(400, 4, 0, 5);
    const auto result = Simulate(options, data, nullptr);
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
    EXPECT_THAT(result->violations, IsEmpty());
    sent += result->job.scheduler.held_answers_sent;
  }
  EXPECT_GT(sent, 0u);
}

}  // namespace
}  // namespace motley
