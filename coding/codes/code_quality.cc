// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "coding/decode/decoder.h"
#include "coding/gradient_code.h"
#include "coding/placement/straggler_sets.h"

namespace motley {
namespace {

double NoiseOf(const CodeForm& form, const std::vector<Complex>& a) {
  double sum = 0;
  for (RowId row = 0; row < form.rows.size(); ++row) {
    double weights = 0;
    double coefficients = 0;
    for (uint32_t part = 0; part < form.parts; ++part) {
      weights += std::norm(a[size_t{row} * form.parts + part]);
      for (size_t e = 0; e < form.rows[row].size(); ++e) {
        coefficients += std::norm(form.B(row, e, part));
      }
    }
    sum += weights * coefficients;
  }
  return sum / (static_cast<double>(form.parts) * form.partitions);
}

}  // namespace

CodeQuality AssessCode(const CodeForm& form, uint64_t samples, uint64_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const uint32_t workers = form.owners();
  Random random(seed, Stream::kCode, workers, form.stragglers);
  const auto sets = StragglerSets(workers, form.stragglers, std::max<uint64_t>(samples, 1), random);
  CodeQuality quality;
  quality.sets_checked = sets.size();
  quality.exhaustive = Choose(workers, form.stragglers) == sets.size();
  for (const auto& set : sets) {
    std::vector<bool> present(workers, true);
    for (WorkerId worker : set) present[worker] = false;
    const Result<DecodingVector> result =
        Solve(form, RowsOfWorkers(form, present), {kInfinity, kInfinity});
    // Nothing finite came out, so this set counts as infinitely bad.
    quality.worst_residual =
        std::max(quality.worst_residual, result.ok() ? result->residual : kInfinity);
    quality.worst_amplification =
        std::max(quality.worst_amplification, result.ok() ? result->amplification : kInfinity);
    quality.worst_noise =
        std::max(quality.worst_noise, result.ok() ? NoiseOf(form, result->a) : kInfinity);
  }
  return quality;
}

}  // namespace motley
