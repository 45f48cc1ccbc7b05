// SPDX-License-Identifier: Apache-2.0
#include "reproduce/multi_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "coding/placement/chunk_order.h"

namespace motley {
namespace {

TEST(ShiftedCode, EveryPartitionIsInAsManyMessagesOfEachIndexAsItsDegree) {
  const ShiftedCode code = MakeShiftedCode(12, {1, 2, 3}, 1).value();
  std::set<uint32_t> shifts(code.shifts.begin(), code.shifts.end());
  EXPECT_EQ(shifts.size(), 6);
  for (uint32_t index = 0; index < 3; ++index) {
    std::vector<uint32_t> held(12, 0);
    for (WorkerId worker = 0; worker < 12; ++worker) {
      for (PartitionId partition : ShiftedMessage(code, worker, index)) ++held[partition];
    }
    EXPECT_EQ(held, std::vector<uint32_t>(12, index + 1));
  }
  for (const std::vector<uint32_t>& degrees :
       {std::vector<uint32_t>{}, {2, 3}, {1, 3, 2}, {1, 6, 6}}) {
    EXPECT_EQ(MakeShiftedCode(12, degrees, 1).code(), StatusCode::kInvalidArgument);
  }
}

TEST(MessageDecoder, PeelsAndEliminates) {
  MessageDecoder decoder(3);
  const auto add = [&](std::vector<PartitionId> members) { return decoder.Add(members); };
  EXPECT_TRUE(add({0, 1}));
  EXPECT_TRUE(add({1, 2}));
  EXPECT_EQ(decoder.recovered(), 0);
  EXPECT_EQ(decoder.SumWeights(), (std::vector<double>{0, 0}));
  EXPECT_TRUE(add({0, 2}));  // Peeling would be stuck, because no message has a single partition.
  EXPECT_EQ(decoder.recovered(), 3);
  EXPECT_FALSE(add({1}));
  EXPECT_EQ(decoder.SumWeights(), (std::vector<double>{0.5, 0.5, 0.5, 0}));
}

// A partition is recovered if and only if a message with it alone would add nothing, and the
// weights give the sum of the recovered ones.
TEST(MessageDecoder, RecoversWhatFollowsAndNothingElse) {
  Random random(1, Stream::kTest);
  for (int round = 0; round < 300; ++round) {
    const auto partitions = static_cast<uint32_t>(1 + random.Below(12));
    std::vector<double> gradients(partitions);
    for (double& value : gradients) value = random.Normal();
    MessageDecoder decoder(partitions);
    std::vector<double> messages;
    for (uint32_t m = 0; m < 2 * partitions; ++m) {
      std::vector<PartitionId> all(partitions);
      std::iota(all.begin(), all.end(), 0);
      random.Shuffle(std::span(all));
      all.resize(1 + random.Below(std::min(partitions, 4U)));
      messages.push_back(0);
      for (PartitionId partition : all) messages.back() += gradients[partition];
      decoder.Add(all);
      double wanted = 0;
      uint32_t recovered = 0;
      for (PartitionId partition = 0; partition < partitions; ++partition) {
        MessageDecoder copy = decoder;
        EXPECT_EQ(copy.Add(std::vector{partition}), !decoder.Recovered(partition));
        if (!decoder.Recovered(partition)) continue;
        wanted += gradients[partition];
        ++recovered;
      }
      EXPECT_EQ(decoder.recovered(), recovered);
      const std::vector<double> weights = decoder.SumWeights();
      EXPECT_NEAR(std::inner_product(weights.begin(), weights.end(), messages.begin(), 0.0), wanted,
                  1e-9);
    }
  }
}

// --- Coded computation with partial recovery: 40 workers, 0.01 + Exp(10) seconds per task ---

constexpr uint32_t kWorkers = 40;

struct Means {
  double seconds[3] = {};   // Until all, 85 % and 70 % are recovered.
  double messages[3] = {};  // Messages that arrived until then.
};

// `tasks[t]`: tasks that a worker has finished when it sends message t.
template <typename Members>
Means Simulate(const std::vector<uint32_t>& tasks, const Members& members) {
  constexpr int kRuns = 1500;
  constexpr uint32_t kNeeded[3] = {40, 34, 28};
  Random random(7, Stream::kTest, tasks.size(), tasks.back());
  Means means;
  for (int run = 0; run < kRuns; ++run) {
    struct Arrival {
      double time;
      WorkerId worker;
      uint32_t index;
    };
    std::vector<Arrival> arrivals;
    for (WorkerId worker = 0; worker < kWorkers; ++worker) {
      const double seconds = 0.01 + random.Exponential(0.1);
      for (uint32_t t = 0; t < tasks.size(); ++t) {
        arrivals.push_back({tasks[t] * seconds, worker, t});
      }
    }
    std::sort(arrivals.begin(), arrivals.end(),
              [](const Arrival& a, const Arrival& b) { return a.time < b.time; });
    MessageDecoder decoder(kWorkers);
    int open = 2;
    for (size_t i = 0; i < arrivals.size() && open >= 0; ++i) {
      decoder.Add(members(run, arrivals[i].worker, arrivals[i].index));
      for (; open >= 0 && decoder.recovered() >= kNeeded[open]; --open) {
        means.seconds[open] += arrivals[i].time / kRuns;
        means.messages[open] += static_cast<double>(i + 1) / kRuns;
      }
    }
    EXPECT_EQ(open, -1);
  }
  return means;
}

void ExpectPublished(const Means& means, std::vector<double> seconds,
                     std::vector<double> messages) {
  for (int q = 0; q < 3; ++q) {
    EXPECT_NEAR(means.seconds[q], seconds[q], 0.03 * seconds[q]) << q;
    EXPECT_NEAR(means.messages[q], messages[q], 0.02 * messages[q]) << q;
  }
}

std::vector<PartitionId> Shifted(uint64_t seed, WorkerId worker, uint32_t index) {
  return ShiftedMessage(MakeShiftedCode(kWorkers, {1, 2, 3}, seed).value(), worker, index);
}

std::vector<PartitionId> Uncoded(uint64_t, WorkerId worker, uint32_t index) {
  return {(worker + index) % kWorkers};
}

TEST(MultiMessage, MatrixProductsAsPublished) {  // Table III: three tasks.
  ExpectPublished(Simulate({1, 2, 3}, Shifted), {0.1582, 0.0935, 0.0755}, {63.9, 42.8, 34.5});
  ExpectPublished(Simulate({1, 2, 3}, Uncoded), {0.2424, 0.1170, 0.0799}, {81.3, 51.2, 36.7});
}

TEST(MultiMessage, GeneralGradientsAsPublished) {  // Table IV: six gradients.
  ExpectPublished(Simulate({1, 3, 6}, Shifted), {0.2219, 0.1231, 0.0940}, {62.6, 41.6, 32.4});
  ExpectPublished(Simulate({1, 2, 3, 4, 5, 6}, Uncoded), {0.1874, 0.0986, 0.0736},
                  {99.6, 55.1, 38.3});
}

}  // namespace
}  // namespace motley
