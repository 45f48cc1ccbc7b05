// SPDX-License-Identifier: Apache-2.0
#include "reproduce/monte_carlo.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.h"

namespace motley {
namespace {

// Runs that share a generator: enough to be worth a task, few enough to use all threads.
constexpr uint64_t kChunk = 64;

}  // namespace

std::vector<Estimate> MeansOfRuns(
    const ReproduceContext& context, uint64_t stream, uint64_t runs, size_t values,
    const std::function<void(Random& random, std::span<double> figures)>& run) {
  MOTLEY_ASSERT(context.parallel != nullptr);
  const auto count =
      std::max<uint64_t>(2, std::llround(static_cast<double>(runs) * context.effort));
  const uint64_t chunks = (count + kChunk - 1) / kChunk;
  std::vector<double> sums(chunks * values, 0);
  std::vector<double> squares(chunks * values, 0);
  std::vector<double> largest(chunks * values, -std::numeric_limits<double>::infinity());
  context.parallel->For(chunks, 1, [&](size_t begin, size_t end) {
    std::vector<double> figures(values);
    for (size_t chunk = begin; chunk < end; ++chunk) {
      Random random(context.seed, Stream::kSimulation, stream, chunk);
      for (uint64_t i = chunk * kChunk; i < std::min(count, (chunk + 1) * kChunk); ++i) {
        std::fill(figures.begin(), figures.end(), 0.0);
        run(random, figures);
        for (size_t v = 0; v < values; ++v) {
          sums[chunk * values + v] += figures[v];
          squares[chunk * values + v] += figures[v] * figures[v];
          largest[chunk * values + v] = std::max(largest[chunk * values + v], figures[v]);
        }
      }
    }
  });
  std::vector<Estimate> estimates(values);
  const auto n = static_cast<double>(count);
  for (size_t v = 0; v < values; ++v) {
    double sum = 0;
    double square = 0;
    double most = -std::numeric_limits<double>::infinity();
    for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
      sum += sums[chunk * values + v];
      square += squares[chunk * values + v];
      most = std::max(most, largest[chunk * values + v]);
    }
    const double mean = sum / n;
    estimates[v].mean = mean;
    estimates[v].most = most;
    estimates[v].error = std::sqrt(std::max(0.0, square / n - mean * mean) / (n - 1));
  }
  return estimates;
}

}  // namespace motley
