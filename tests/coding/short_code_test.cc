// SPDX-License-Identifier: Apache-2.0
#include "coding/short_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "coding/straggler_sets.h"
#include "tests/coding/coded_job.h"

namespace motley {
namespace {

std::vector<bool> Present(uint32_t workers, const std::vector<WorkerId>& missing) {
  std::vector<bool> present(workers, true);
  for (WorkerId worker : missing) present[worker] = false;
  return present;
}

size_t PartitionsIn(const std::vector<ShortRun>& row) {
  size_t count = 0;
  for (const ShortRun& run : row) count += run.end - run.begin;
  return count;
}

// max over partitions and pairs of parts of |sum_j A[u,j] E[j,i,u'] - delta|, in double.
double TrueResidual(const ShortCode& code, const ShortDecoding& decoding) {
  const uint32_t m = code.parts;
  std::vector<Complex> sums(size_t{code.partitions} * m * m, 0);
  for (WorkerId worker = 0; worker < code.workers; ++worker) {
    for (const ShortRun& run : code.rows[worker]) {
      for (PartitionId p = run.begin; p < run.end; ++p) {
        for (uint32_t u = 0; u < m; ++u) {
          for (uint32_t v = 0; v < m; ++v) {
            sums[(p * m + u) * m + v] += decoding.weights[worker * m + u] * run.weights[v];
          }
        }
      }
    }
  }
  double worst = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const Complex wanted = i / m % m == i % m ? 1 : 0;
    worst = std::max(worst, std::abs(sums[i] - wanted));
  }
  return worst;
}

struct ShortJob {
  std::vector<std::vector<float>> messages;
  std::vector<double> sum;
};

ShortJob MakeShortJob(const ShortCode& code, size_t length, ParallelFor& parallel) {
  Random random(5, Stream::kTest, code.workers, code.parts);
  ShortJob job;
  job.sum.assign(length, 0);
  std::vector<std::vector<float>> gradients(code.partitions, std::vector<float>(length));
  for (auto& gradient : gradients) {
    for (size_t t = 0; t < length; ++t) {
      gradient[t] = static_cast<float>(random.Normal());
      job.sum[t] += gradient[t];
    }
  }
  for (const auto& row : code.rows) {
    job.messages.emplace_back(ShortLength(code, length), 0.0F);
    for (const ShortRun& run : row) {
      for (PartitionId p = run.begin; p < run.end; ++p) {
        EncodeShort(run, gradients[p], job.messages.back(), parallel);
      }
    }
  }
  return job;
}

// Worst over straggler sets.
struct Worst {
  double residual = 0;
  double amplification = 0;
  double error = 0;  // Of the decoded sum in float, relative.
};

Worst Try(const CodeRequest& request, uint32_t m, size_t length) {
  const auto parallel = MakeSerialParallelFor();
  const ShortCode code = BuildShortCode(request, m).value();
  const uint32_t n = code.workers;
  const uint32_t s = code.stragglers;
  const ShortJob job = MakeShortJob(code, length, *parallel);
  Worst worst;
  for (uint32_t missing = 0; missing <= s; ++missing) {
    Random random(3, Stream::kTest, n, missing);
    for (const auto& set : StragglerSets(n, missing, 250, random)) {
      const auto decoding = SolveShort(code, Present(n, set));
      EXPECT_TRUE(decoding.ok()) << decoding.status().ToString();
      if (!decoding.ok()) continue;
      std::vector<std::span<const float>> arrived(job.messages.begin(), job.messages.end());
      for (WorkerId worker : set) arrived[worker] = {};
      std::vector<float> sum(length, -1);
      DecodeShort(code, *decoding, arrived, sum, *parallel);
      worst.residual = std::max(worst.residual, TrueResidual(code, *decoding));
      worst.amplification = std::max(worst.amplification, decoding->amplification);
      worst.error = std::max(worst.error, RelativeError(sum, job.sum));
    }
  }
  return worst;
}

// Ye and Abbe's example: seven workers, two stragglers, messages of half the length, four copies.
TEST(ShortCode, ThePapersExampleIsExactForEveryStragglerSet) {
  const ShortCode code = BuildShortCode(EqualRequest(7, 2, 7), 2).value();
  EXPECT_EQ(code.copies(), 4);
  for (const auto& row : code.rows) EXPECT_EQ(PartitionsIn(row), 4);
  EXPECT_EQ(ShortLength(code, 1000), 500);
  const Worst worst = Try(EqualRequest(7, 2, 7), 2, 1000);
  EXPECT_LE(worst.residual, 1e-13);
  EXPECT_LE(worst.error, 6e-7);
}

TEST(ShortCode, EverySizeIsExact) {
  for (uint32_t n = 1; n <= 9; ++n) {
    for (uint32_t s = 0; s < n; ++s) {
      for (uint32_t m = 1; s + m <= n; ++m) {
        const Worst worst = Try(EqualRequest(n, s, n + 2), m, 2 * m + 8);
        EXPECT_LE(worst.residual, 1e-10) << n << " " << s << " " << m;
        EXPECT_LE(worst.error, 1e-5) << n << " " << s << " " << m;
      }
    }
  }
}

TEST(ShortCode, RoundingStaysSmallHoweverManyWorkers) {
  for (const auto& [n, s, m] : {std::array{8U, 2U, 2U},
                                {16U, 2U, 2U},
                                {32U, 2U, 2U},
                                {64U, 2U, 2U},
                                {16U, 4U, 4U},
                                {32U, 4U, 4U},
                                {64U, 4U, 4U}}) {
    const Worst worst = Try(EqualRequest(n, s, n), m, 400);
    RecordProperty("n" + std::to_string(n) + "_s" + std::to_string(s) + "_m" + std::to_string(m),
                   fmt::format("{:.1e}", worst.error));
    EXPECT_LE(worst.residual, 1e-11) << n;
    EXPECT_LE(worst.amplification, s == 2 ? 2 : 14) << n;
    EXPECT_LE(worst.error, s == 2 ? 6e-7 : 6e-6) << n;
  }
}

// With messages as long as gradients it is Lagrange's basis at 0, as in unit_circle.h.
TEST(ShortCode, OnePartIsTheHeterogeneousCode) {
  const ShortCode code = BuildShortCode(UnequalRequest(10, 3, 40, 2), 1).value();
  std::vector<std::vector<WorkerId>> holders(40);
  for (WorkerId worker = 0; worker < 10; ++worker) {
    for (const ShortRun& run : code.rows[worker]) {
      for (PartitionId p = run.begin; p < run.end; ++p) holders[p].push_back(worker);
    }
  }
  for (WorkerId worker = 0; worker < 10; ++worker) {
    for (const ShortRun& run : code.rows[worker]) {
      EXPECT_EQ(holders[run.begin].size(), 4);
      Complex product = 1;
      for (WorkerId other : holders[run.begin]) {
        if (other == worker) continue;
        product *= code.nodes[other] / (code.nodes[other] - code.nodes[worker]);
      }
      EXPECT_LE(std::abs(product - run.weights[0]), 1e-12);
    }
  }
}

TEST(ShortCode, LoadsFollowTheSpeeds) {
  const CodeRequest request{{2, 2, 4, 4, 8, 8, 8, 12}, 1, 32, 1};
  const ShortCode code = BuildShortCode(request, 2).value();
  std::vector<size_t> loads;
  for (const auto& row : code.rows) loads.push_back(PartitionsIn(row));
  EXPECT_EQ(loads, (std::vector<size_t>{4, 4, 8, 8, 16, 16, 16, 24}));
  Random random(4, Stream::kTest);
  for (int round = 0; round < 100; ++round) {
    const auto n = static_cast<uint32_t>(2 + random.Below(14));
    const auto s = static_cast<uint32_t>(random.Below(std::min(n, 4U)));
    const auto m = static_cast<uint32_t>(1 + random.Below(std::min(n - s, 3U)));
    const Worst worst = Try(UnequalRequest(n, s, 3 * n, round), m, 24);
    EXPECT_LE(worst.residual, 1e-10) << n << " " << s << " " << m;
    EXPECT_LE(worst.error, 1e-5) << n << " " << s << " " << m;
  }
  const ShortCode slow = BuildShortCode({{1, 1, 1, 1e-6}, 1, 12, 1}, 1).value();
  EXPECT_TRUE(slow.rows[3].empty());
  EXPECT_TRUE(SolveShort(slow, Present(4, {1, 3})).ok());
}

// The server need not keep the messages: sums with powers of the nodes are enough.
TEST(ShortCode, StreamingWeightsAreTheSameDecoding) {
  const ShortCode code = BuildShortCode(EqualRequest(9, 2, 9), 3).value();
  const auto decoding = SolveShort(code, Present(9, {3, 4})).value();
  for (WorkerId worker = 0; worker < 9; ++worker) {
    if (worker == 3 || worker == 4) continue;
    for (uint32_t part = 0; part < 3; ++part) {
      Complex sum = 0;
      for (uint32_t t = 0; t < 5; ++t) {
        sum += decoding.x[part * 5 + t] * std::pow(code.nodes[worker], t);
      }
      EXPECT_LE(std::abs(sum - decoding.weights[worker * 3 + part]), 1e-12);
    }
  }
}

TEST(ShortCode, RequestsThatMakeNoSenseAreRefusedWithTheReason) {
  for (const auto& [n, s, m, k] :
       {std::array{4U, 1U, 0U, 8U}, {4U, 1U, 4U, 8U}, {4U, 4U, 1U, 8U}, {4U, 1U, 1U, 3U}}) {
    EXPECT_EQ(BuildShortCode(EqualRequest(n, s, k), m).code(), StatusCode::kInvalidArgument);
  }
  const ShortCode code = BuildShortCode(EqualRequest(5, 1, 5), 2).value();
  EXPECT_EQ(SolveShort(code, {true}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(SolveShort(code, Present(5, {0, 1})).code(), StatusCode::kNotDecodable);
  EXPECT_EQ(SolveShort(code, Present(5, {0}), {.tolerance = 1e-9}).code(),
            StatusCode::kNotDecodable);
}

}  // namespace
}  // namespace motley
