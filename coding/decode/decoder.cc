// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "coding/decode/decoder_checks.h"
#include "coding/decode/tiling.h"

namespace motley {
namespace {

// Disjoint rows that cover everything, with a = 1 on them; empty if there are none.
std::vector<RowId> TilingRows(const CodeForm& form, const std::vector<bool>& present) {
  const Tiling tiling(form);
  std::vector<Tiling::Cost> costs(tiling.supports(), Tiling::Cost::kImpossible);
  std::vector<RowId> first(tiling.supports());
  for (RowId row = form.workers; row-- > 0;) {
    if (!present[row] || form.rows[row].empty()) continue;
    costs[tiling.SupportOf(row)] = Tiling::Cost::kFree;
    first[tiling.SupportOf(row)] = row;
  }
  std::vector<RowId> rows;
  for (uint32_t support : tiling.Cover(costs)) rows.push_back(first[support]);
  return rows;
}

// The largest column of |a| |B|: the growth of a partition's rounding error.
double LargestColumn(const CodeForm& form, std::span<const Complex> a) {
  std::vector<double> columns(size_t{form.partitions} * form.parts, 0);
  for (RowId row = 0; row < form.workers; ++row) {
    for (size_t e = 0; e < form.rows[row].size(); ++e) {
      double largest = 0;
      for (uint32_t u = 0; u < form.parts; ++u) {
        largest = std::max(largest, std::abs(form.B(row, e, u)));
      }
      for (uint32_t u = 0; u < form.parts; ++u) {
        columns[size_t{form.rows[row][e].partition} * form.parts + u] +=
            largest * std::abs(a[size_t{row} * form.parts + u]);
      }
    }
  }
  return columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end());
}

// The number of rows outside of C. They answer as well: graph codes have edges outside of all
// matchings.
size_t RowsOutside(const CodeForm& form) {
  size_t outside = 0;
  for (RowId row = 0; row < form.workers; ++row) {
    bool used = form.rows[row].empty();
    for (uint32_t r = 0; r < form.accumulators && !used; ++r) used = form.C(r, row) != 0.0;
    outside += used ? 0 : 1;
  }
  return outside;
}

// An upper bound on LargestColumn that does not need B. It is 1 if rows tile the data and none is
// subtracted. Otherwise a partition is on s + m rows, and perhaps on those outside of C. So the
// bound is, for each part, max|B| times the sum of that many largest |a_i|.
double GrowthBound(const CodeForm& form, std::span<const Complex> a) {
  const auto added = [](const Complex& each) { return each.real() >= 0; };
  if (form.tiling() && std::all_of(a.begin(), a.end(), added)) return 1;
  const size_t holders =
      form.tiling() ? form.workers : size_t{form.stragglers} + form.parts + RowsOutside(form);
  const size_t counted = std::min<size_t>(holders, form.workers);
  double most = 0;
  std::vector<double> weights(form.workers);
  for (uint32_t u = 0; u < form.parts; ++u) {
    for (RowId row = 0; row < form.workers; ++row) {
      weights[row] = std::abs(a[size_t{row} * form.parts + u]);
    }
    const auto end = weights.begin() + static_cast<ptrdiff_t>(counted);
    std::nth_element(weights.begin(), counted < weights.size() ? end : weights.end() - 1,
                     weights.end(), std::greater<>());
    most = std::max(most, std::accumulate(weights.begin(), end, 0.0));
  }
  return most * LargestCoefficient(form);
}

}  // namespace

Status CheckPresent(const CodeForm& form, const std::vector<bool>& present) {
  if (present.size() == form.workers) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("got {} flags for the {} rows of the code", present.size(), form.workers));
}

std::vector<RowId> MissingRows(const CodeForm& form, const std::vector<bool>& present) {
  std::vector<RowId> missing;
  for (RowId row = 0; row < form.workers; ++row) {
    if (!present[row] && !form.rows[row].empty()) missing.push_back(row);
  }
  return missing;
}

std::string DescribeMissing(const CodeForm& form, size_t missing) {
  return fmt::format("{} of {} answers are missing and code \"{}\" tolerates {}", missing,
                     form.workers, form.name, form.stragglers);
}

Result<DecodingVector> Accept(const CodeForm& form, DecodingVector result, size_t missing,
                              const DecodeLimits& limits) {
  if (!(result.residual <= limits.residual)) {
    return Status::NotDecodable(
        fmt::format("{}: the answers so far do not give the full sum (residual {:.3g})",
                    DescribeMissing(form, missing), result.residual));
  }
  double largest = 0;
  for (const Complex& a : result.a) largest = std::max(largest, std::abs(a));
  result.amplification = largest * LargestCoefficient(form);
  // Rounding to the nearest float has an error of at most half of epsilon.
  const double most = limits.tolerance / (std::numeric_limits<float>::epsilon() / 2);
  double growth = GrowthBound(form, result.a);
  if (!(growth <= most)) growth = LargestColumn(form, result.a);
  if (!(growth <= most)) {
    return Status::NotDecodable(
        fmt::format("{}: the sum would lose too much precision (norm guard: rounding grows {:.3g} "
                    "times, limit {:.3g}); one more answer is needed",
                    DescribeMissing(form, missing), growth, most));
  }
  return result;
}

Result<DecodingVector> Solve(const CodeForm& form, const std::vector<bool>& present,
                             const DecodeLimits& limits) {
  if (!form.tiling()) return SolveClosed(form, present, limits);
  MOTLEY_RETURN_IF_ERROR(CheckPresent(form, present));
  const std::vector<RowId> rows = TilingRows(form, present);
  if (rows.empty()) return SolveGeneral(form, present, limits);
  DecodingVector result;
  result.a.assign(form.workers, 0);
  for (RowId row : rows) result.a[row] = 1;
  return Accept(form, std::move(result), MissingRows(form, present).size(), limits);
}

}  // namespace motley
