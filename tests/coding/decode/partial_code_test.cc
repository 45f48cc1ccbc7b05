// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/partial_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "coding/decode/part_sums.h"

namespace motley {
namespace {

// The finished chunks if each worker stops after a random number of its chunks.
WorkLists Prefixes(const WorkLists& order, Random& random) {
  WorkLists finished = order;
  for (auto& list : finished) list.resize(random.Below(list.size() + 1));
  return finished;
}

// sum_i max(0, l - |D_i|)
double LackOfHolders(const WorkLists& finished, uint32_t chunks, uint32_t parts) {
  std::vector<uint32_t> holders(chunks, 0);
  for (const auto& list : finished) {
    for (PartitionId chunk : list) ++holders[chunk];
  }
  double lack = 0;
  for (uint32_t count : holders) lack += count < parts ? parts - count : 0;
  return lack;
}

struct Sums {
  std::vector<float> decoded;
  std::vector<double> wanted;

  double SquaredError() const {
    double total = 0;
    for (size_t t = 0; t < wanted.size(); ++t) {
      total += (decoded[t] - wanted[t]) * (decoded[t] - wanted[t]);
    }
    return total;
  }
};

// Workers compute their messages in float, and the server decodes the sum.
Sums RunStep(const PartialCode& code, const PartialPlan& plan, uint32_t chunks, size_t length,
             Random& random) {
  const auto parallel = MakeSerialParallelFor();
  Sums sums{std::vector<float>(length, -1), std::vector<double>(length, 0)};
  std::vector<std::vector<float>> gradients(chunks, std::vector<float>(length));
  for (auto& gradient : gradients) {
    for (size_t t = 0; t < length; ++t) {
      gradient[t] = static_cast<float>(random.Normal());
      sums.wanted[t] += gradient[t];
    }
  }
  const size_t part = PartLength(Field::kReal, length, code.parts);
  std::vector<std::vector<float>> messages(code.workers, std::vector<float>(part, 0));
  for (WorkerId worker = 0; worker < code.workers; ++worker) {
    for (const PartialEntry& entry : plan.entries[worker]) {
      AddParts(Field::kReal, entry.weights, gradients[entry.chunk], messages[worker], *parallel);
    }
  }
  for (size_t t = 0; t < length; ++t) {
    double sum = 0;
    for (WorkerId worker = 0; worker < code.workers; ++worker) {
      sum += code.R(worker, static_cast<uint32_t>(t / part)) * messages[worker][t % part];
    }
    sums.decoded[t] = static_cast<float>(sum);
  }
  return sums;
}

TEST(PartialCode, IsExactWhereEveryChunkHasEnoughHoldersAndPredictsItsErrorOtherwise) {
  Random random(1, Stream::kTest);
  int exact = 0;
  for (int round = 0; round < 400; ++round) {
    const auto n = static_cast<uint32_t>(2 + random.Below(12));
    const auto copies = static_cast<uint32_t>(1 + random.Below(n));
    const auto parts = static_cast<uint32_t>(1 + random.Below(std::min(copies, 4U)));
    const PartialCode code = MakePartialCode(n, parts).value();
    const WorkLists order = MatchingOrder(RandomRegularLists(n, copies, random), round).value();
    const WorkLists finished = round % 3 == 0 ? order : Prefixes(order, random);
    const PartialPlan plan = PlanPartial(code, n, finished).value();
    const double lack = LackOfHolders(finished, n, parts);
    EXPECT_NEAR(plan.squared_error, lack, 1e-9 * (1 + plan.amplification * plan.amplification));
    if (lack > 0) continue;
    ++exact;
    const size_t length = 1 + random.Below(50);
    const Sums sums = RunStep(code, plan, n, length, random);
    EXPECT_LE(std::sqrt(sums.SquaredError() / static_cast<double>(length)),
              1e-6 * (1 + plan.amplification) * n);
  }
  EXPECT_GE(exact, 140);
}

// Standard normal gradients: over all l parts, the squared errors of a coordinate add up to sum_i
// (l - |D_i|)^+.
TEST(PartialCode, TheErrorThatItPredictsIsTheErrorThatComes) {
  Random random(2, Stream::kTest);
  for (uint32_t parts : {1, 2, 3}) {
    const PartialCode code = MakePartialCode(12, parts).value();
    const WorkLists order = MatchingOrder(CyclicShiftedLists(12, 4), 3).value();
    const PartialPlan plan = PlanPartial(code, 12, Prefixes(order, random)).value();
    ASSERT_GT(plan.squared_error, 0.5);
    const size_t length = 30000;
    const Sums sums = RunStep(code, plan, 12, length, random);
    EXPECT_NEAR(sums.SquaredError() * parts / static_cast<double>(length), plan.squared_error,
                0.05 * plan.squared_error);
  }
}

TEST(PartialCode, WithOnePartEveryCopyOfAChunkDoesTheSameShare) {
  const PartialCode code = MakePartialCode(3, 1).value();
  const PartialPlan plan = PlanPartial(code, 3, {{0, 1}, {1, 2}, {1}}).value();
  EXPECT_NEAR(plan.entries[0][0].weights[0].real(), 1, 1e-15);
  EXPECT_NEAR(plan.entries[0][1].weights[0].real(), 1.0 / 3, 1e-15);
  EXPECT_NEAR(plan.entries[2][0].weights[0].real(), 1.0 / 3, 1e-15);
  EXPECT_NEAR(plan.squared_error, 0, 1e-28);
}

// Holders that are neighbours on the curve are hardly independent, wherever they begin.
TEST(PartialCode, HoldersOfWhichRoundingWouldGrowTooMuchCountAsFewer) {
  constexpr uint32_t kWorkers = 200;
  Random random(4, Stream::kTest);
  for (uint32_t parts : {3, 4, 5}) {
    const PartialCode code = MakePartialCode(kWorkers, parts).value();
    uint32_t next = 1;  // The distance in number to the neighbour on the curve.
    const auto near = [&](uint32_t worker) {
      double product = 0;
      for (uint32_t u = 0; u < parts; ++u) product += code.R(0, u) * code.R(worker, u);
      return std::abs(product);
    };
    for (uint32_t worker = 1; worker < kWorkers; ++worker) {
      if (near(worker) > near(next)) next = worker;
    }
    for (uint32_t first : {0, 61, 160}) {
      WorkLists finished(kWorkers);
      for (uint32_t t = 0; t < parts; ++t) finished[(first + t * next) % kWorkers] = {0};
      const DecodeLimits any{.tolerance = 1};
      EXPECT_GT(PlanPartial(code, 1, finished, any)->amplification, 1000);
      const PartialPlan plan = PlanPartial(code, 1, finished).value();
      EXPECT_LE(plan.amplification * 0x1p-23, DecodeLimits().tolerance);
      EXPECT_NEAR(plan.squared_error, std::round(plan.squared_error), 1e-9);
      EXPECT_GE(plan.squared_error, 1 - 1e-9);
      EXPECT_LE(plan.squared_error, parts - 1 + 1e-9);
      const size_t length = 30000;
      const Sums sums = RunStep(code, plan, 1, length, random);
      EXPECT_NEAR(sums.SquaredError() * parts / static_cast<double>(length), plan.squared_error,
                  0.05 * plan.squared_error);
      // A holder from elsewhere on the curve adds one part to the chunk.
      finished[(first + (kWorkers / 2) * next) % kWorkers] = {0};
      EXPECT_LE(PlanPartial(code, 1, finished)->squared_error, plan.squared_error - 1 + 1e-9);
    }
  }
}

TEST(PartialCode, HoldersOfNeighbouringNumbersAreSafe) {
  for (uint32_t parts : {2, 3, 4}) {
    const PartialCode code = MakePartialCode(200, parts).value();
    double worst = 0;
    for (uint32_t first = 0; first < 200; ++first) {
      WorkLists finished(200);
      for (uint32_t t = 0; t < parts; ++t) finished[(first + t) % 200] = {0};
      const PartialPlan plan = PlanPartial(code, 1, finished).value();
      EXPECT_LE(plan.squared_error, 1e-20);
      worst = std::max(worst, plan.amplification);
    }
    EXPECT_LE(worst, 3);
  }
}

TEST(PartialCode, RequestsThatMakeNoSenseAreRefusedWithTheReason) {
  EXPECT_EQ(MakePartialCode(4, 0).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(MakePartialCode(4, 5).code(), StatusCode::kInvalidArgument);
  const PartialCode code = MakePartialCode(2, 1).value();
  for (const WorkLists& finished : {WorkLists{{0}}, WorkLists{{0}, {2}}, WorkLists{{1}, {0, 0}}}) {
    EXPECT_EQ(PlanPartial(code, 2, finished).code(), StatusCode::kInvalidArgument);
  }
}

// Ramamoorthy et al.: 200 workers, 8 copies, exponential chunk times that are constant per worker,
// an integer time grid. Compares partial gradient coding in the best order with gradient coding,
// both with cyclic placement.
TEST(PartialCode, IsFasterThanGradientCodingAsPublished) {
  constexpr uint32_t kWorkers = 200;
  constexpr uint32_t kCopies = 8;
  const WorkLists order = MatchingOrder(CyclicShiftedLists(kWorkers, kCopies), 1).value();
  Random random(3, Stream::kTest);
  for (const auto& [parts, published] : {std::pair{1U, 2.19}, {2U, 2.10}, {3U, 1.94}}) {
    double whole = 0;
    double partial = 0;
    for (int run = 0; run < 300; ++run) {
      std::vector<std::vector<double>> chunk(kWorkers);
      std::vector<std::vector<double>> complete(kWorkers);
      for (const auto& list : order) {
        const double seconds = random.Exponential(1);
        for (size_t t = 0; t < list.size(); ++t) {
          chunk[list[t]].push_back(seconds * static_cast<double>(t + 1));
          complete[list[t]].push_back(seconds * kCopies);
        }
      }
      const auto last = [l = parts](std::vector<std::vector<double>>& times) {
        double latest = 0;
        for (auto& of : times) {
          std::nth_element(of.begin(), of.begin() + l - 1, of.end());
          latest = std::max(latest, of[l - 1]);
        }
        return std::ceil(latest);
      };
      whole += last(complete);
      partial += last(chunk);
    }
    EXPECT_NEAR(whole / partial, published, 0.07 * published) << parts;
  }
}

}  // namespace
}  // namespace motley
