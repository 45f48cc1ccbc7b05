// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/batch_weight.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace motley {
namespace {

constexpr double kMost = 1e100;     // Losses are at most squares of the largest values in vectors.
constexpr double kRounding = 1e-9;  // Relative rounding in a sum of counts times coefficients.
// Relative rounding in a decoded sum: DecodeLimits, with a margin.
constexpr double kDecoding = 1e-5;
constexpr double kNothing = 1e-6;  // A coverage below this is only rounding.

std::string Describe(std::complex<double> weight) {
  if (weight.imag() == 0) return fmt::format("{:.10g}", weight.real());
  return fmt::format("{:.10g}{:+.10g}i", weight.real(), weight.imag());
}

Status CheckWeight(const Tally& tally, std::complex<double> expected, double magnitude) {
  if (std::abs(tally.weight - expected) <= kRounding * magnitude) return Status::Ok();
  return Status::DataError(fmt::format(
      "an answer of weight {}, where its samples weigh {}: some are missing or count twice",
      Describe(tally.weight), Describe(expected)));
}

}  // namespace

Status CheckTally(const Tally& tally) {
  if (std::abs(tally.loss) <= kMost && std::abs(tally.weight) <= kMost) return Status::Ok();
  return Status::DataError(fmt::format("an answer of loss {} and weight {}: these cannot be summed",
                                       Describe(tally.loss), Describe(tally.weight)));
}

Status CheckTally(const Tally& tally, const KnownCounts& counts, const CodeForm& form, RowId row) {
  MOTLEY_RETURN_IF_ERROR(CheckTally(tally));
  if (counts == nullptr) return Status::Ok();
  std::complex<double> weight = 0;
  double magnitude = 0;
  for (const CodeEntry& entry : form.rows[row]) {
    const double samples = (*counts)[entry.partition].count;
    weight += entry.coefficient * samples;
    magnitude += std::abs(entry.coefficient) * samples;
  }
  return CheckWeight(tally, weight, magnitude);
}

Status CheckTally(const Tally& tally, const KnownCounts& counts,
                  std::span<const PartitionId> partitions) {
  MOTLEY_RETURN_IF_ERROR(CheckTally(tally));
  if (counts == nullptr) return Status::Ok();
  double samples = 0;
  for (const PartitionId p : partitions) samples += (*counts)[p].count;
  return CheckWeight(tally, samples, samples);
}

Result<double> BatchWeight(const Tally& tally, double samples, bool counts_known,
                           std::span<const BatchSchedule::Range> ranges,
                           const ApproximateSum* approximate) {
  const double weight = tally.weight.real();
  if (approximate == nullptr && counts_known) {
    if (std::abs(weight - samples) <= kDecoding * samples) return samples;
    return Status::Internal(fmt::format(
        "the sum weighs {:.10g}, the batch has {} samples: please report this", weight, samples));
  }
  if (approximate == nullptr) {
    if (weight >= 0) return weight;
    return Status::DataError(fmt::format("the batch's samples weigh {} together", weight));
  }
  double covered = 0;
  for (size_t p = 0; p < ranges.size(); ++p) covered += approximate->coverage[p] * ranges[p].count;
  if (counts_known) return samples;
  if (!(std::abs(covered) > kNothing * samples)) return 0;
  return std::max(samples * weight / covered, 0.0);
}

double EffectiveSamples(std::span<const BatchSchedule::Range> ranges,
                        const ApproximateSum* approximate) {
  double sum = 0, squares = 0;
  for (size_t p = 0; p < ranges.size(); ++p) {
    const double alpha = approximate != nullptr ? approximate->coverage[p] : 1;
    sum += alpha * ranges[p].count;
    squares += alpha * alpha * ranges[p].count;
  }
  return squares > 0 ? sum * sum / squares : 0;
}

}  // namespace motley
