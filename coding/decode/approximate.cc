// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/approximate.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "coding/decode/block_graph.h"
#include "coding/decode/decoder_checks.h"
#include "coding/decode/least_norm.h"
#include "coding/decode/tiling.h"

namespace motley {
namespace {

// A sum below this part of the terms' sizes is only rounding.
constexpr double kCancelled = 1e-9;
constexpr size_t kMostDense = 128;     // Rows; with more, least squares iterate.
constexpr double kIterated = 1e-12;    // Relative size of the gradient at which the iteration ends,
constexpr size_t kMostIterations = 4;  // and its limit of steps for each row.

ApproximateDecoding Evaluate(const CodeForm& form, std::vector<Complex> a) {
  std::vector<Complex> coverage(form.partitions, 0);
  for (RowId row = 0; row < form.workers; ++row) {
    if (a[row] == Complex(0)) continue;
    for (const CodeEntry& entry : form.rows[row]) {
      coverage[entry.partition] += a[row] * entry.coefficient;
    }
  }
  ApproximateDecoding decoding{std::move(a), std::move(coverage)};
  for (const Complex& alpha : decoding.coverage) {
    decoding.error += std::norm(alpha - 1.0);
    decoding.mean_coverage += alpha.real();
  }
  decoding.error /= form.partitions;
  decoding.mean_coverage /= form.partitions;
  return decoding;
}

// A run of adjacent partitions with the same present rows and coefficients. It is one equation,
// weighted with the root of the number of partitions.
struct ColumnRun {
  std::vector<std::pair<Eigen::Index, Complex>> entries;  // (place among the present rows, B[i,j])
  double partitions = 1;
};

std::vector<ColumnRun> ColumnRuns(const CodeForm& form, const std::vector<RowId>& rows) {
  std::vector<ColumnRun> columns(form.partitions);
  for (size_t place = 0; place < rows.size(); ++place) {
    for (const CodeEntry& entry : form.rows[rows[place]]) {
      columns[entry.partition].entries.emplace_back(static_cast<Eigen::Index>(place),
                                                    entry.coefficient);
    }
  }
  std::vector<ColumnRun> runs;
  for (ColumnRun& column : columns) {
    if (!runs.empty() && runs.back().entries == column.entries) {
      ++runs.back().partitions;
    } else {
      runs.push_back(std::move(column));
    }
  }
  return runs;
}

// out = A^H r, where r has one entry per run.
void ApplyAdjoint(const std::vector<ColumnRun>& runs, const std::vector<Complex>& r,
                  std::vector<Complex>& out) {
  std::fill(out.begin(), out.end(), 0);
  for (size_t j = 0; j < runs.size(); ++j) {
    const Complex scaled = std::sqrt(runs[j].partitions) * r[j];
    for (const auto& [place, coefficient] : runs[j].entries) {
      out[place] += std::conj(coefficient) * scaled;
    }
  }
}

double SquaredNorm(const std::vector<Complex>& values) {
  double sum = 0;
  for (const Complex& value : values) sum += std::norm(value);
  return sum;
}

// Least-squares weights by conjugate gradients from 0 (Bjoerck's CGLS), which converge to the
// solution of least norm. Each step is O(entries), and there are at most a few steps for each row.
std::vector<Complex> IteratedWeights(const std::vector<ColumnRun>& runs, size_t rows) {
  std::vector<Complex> a(rows, 0), residual, applied(runs.size()), gradient(rows);
  for (const ColumnRun& run : runs) residual.push_back(std::sqrt(run.partitions));
  ApplyAdjoint(runs, residual, gradient);
  std::vector<Complex> direction = gradient;
  double size = SquaredNorm(gradient);
  const double enough = kIterated * kIterated * size;
  for (size_t step = 0; step < kMostIterations * rows && size > enough; ++step) {
    for (size_t j = 0; j < runs.size(); ++j) {
      applied[j] = 0;
      for (const auto& [place, coefficient] : runs[j].entries) {
        applied[j] += coefficient * direction[place];
      }
      applied[j] *= std::sqrt(runs[j].partitions);
    }
    const double length = size / SquaredNorm(applied);
    for (size_t i = 0; i < rows; ++i) a[i] += length * direction[i];
    for (size_t j = 0; j < runs.size(); ++j) residual[j] -= length * applied[j];
    ApplyAdjoint(runs, residual, gradient);
    const double before = std::exchange(size, SquaredNorm(gradient));
    for (size_t i = 0; i < rows; ++i) direction[i] = gradient[i] + size / before * direction[i];
  }
  return a;
}

template <typename T>
std::vector<Complex> Weights(const std::vector<ColumnRun>& runs, size_t rows) {
  const auto equations = static_cast<Eigen::Index>(runs.size());
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  Matrix matrix(equations, Eigen::Index(rows));
  Matrix wanted(equations, 1);
  matrix.setZero();
  for (Eigen::Index j = 0; j < equations; ++j) {
    const double weight = std::sqrt(runs[j].partitions);
    wanted(j, 0) = weight;
    for (const auto& [place, coefficient] : runs[j].entries) {
      if constexpr (std::is_same_v<T, double>) {
        matrix(j, place) = weight * coefficient.real();
      } else {
        matrix(j, place) = weight * coefficient;
      }
    }
  }
  const Matrix a = LeastNorm(matrix, wanted);
  return {a.data(), a.data() + a.size()};
}

std::vector<Complex> LeastSquaresWeights(const CodeForm& form, const std::vector<bool>& present) {
  std::vector<RowId> rows;
  for (RowId row = 0; row < form.workers; ++row) {
    if (present[row] && !form.rows[row].empty()) rows.push_back(row);
  }
  std::vector<Complex> a(form.workers, 0);
  if (rows.empty()) return a;
  const std::vector<ColumnRun> runs = ColumnRuns(form, rows);
  std::vector<Complex> weights;
  if (rows.size() > kMostDense) {
    weights = IteratedWeights(runs, rows.size());
  } else {
    weights = form.field == Field::kReal ? Weights<double>(runs, rows.size())
                                         : Weights<Complex>(runs, rows.size());
  }
  for (size_t place = 0; place < rows.size(); ++place) a[rows[place]] = weights[place];
  return a;
}

}  // namespace

Result<ApproximateDecoding> SolveLeastSquares(const CodeForm& form,
                                              const std::vector<bool>& present) {
  MOTLEY_RETURN_IF_ERROR(CheckPresent(form, present));
  return Evaluate(form, LeastSquaresWeights(form, present));
}

Result<ApproximateDecoding> SolveFirstOfEach(const CodeForm& form,
                                             const std::vector<bool>& present) {
  MOTLEY_RETURN_IF_ERROR(CheckPresent(form, present));
  const Tiling tiling(form);
  MOTLEY_ASSERT(form.tiling() && tiling.disjoint());
  std::vector<Complex> a(form.workers, 0);
  for (uint32_t support = 0; support < tiling.supports(); ++support) {
    const auto rows = tiling.RowsOf(support);
    const auto first = std::find_if(rows.begin(), rows.end(), [&](RowId r) { return present[r]; });
    if (first != rows.end()) a[*first] = 1;
  }
  return Evaluate(form, std::move(a));
}

Result<ApproximateDecoding> SolveOneStep(const CodeForm& form, const std::vector<bool>& present) {
  MOTLEY_RETURN_IF_ERROR(CheckPresent(form, present));
  Complex total = 0;
  double size = 0;
  for (RowId row = 0; row < form.workers; ++row) {
    if (!present[row]) continue;
    for (const CodeEntry& entry : form.rows[row]) {
      total += entry.coefficient;
      size += std::abs(entry.coefficient);
    }
  }
  std::vector<Complex> a(form.workers, 0);
  if (std::abs(total) <= kCancelled * size) return Evaluate(form, std::move(a));
  for (RowId row = 0; row < form.workers; ++row) {
    if (present[row]) a[row] = static_cast<double>(form.partitions) / total;
  }
  return Evaluate(form, std::move(a));
}

Result<ApproximateDecoding> SolveApproximate(const CodeForm& form,
                                             const std::vector<bool>& present) {
  MOTLEY_RETURN_IF_ERROR(CheckPresent(form, present));
  if (form.tiling() && Tiling(form).disjoint()) return SolveFirstOfEach(form, present);
  if (const std::optional<BlockGraph> graph = GraphOf(form)) {
    const std::vector<double> weights = DecodeGraph(*graph, present);
    return Evaluate(form, {weights.begin(), weights.end()});
  }
  return SolveLeastSquares(form, present);
}

ApproximateDecoding Unbiased(const CodeForm& form, ApproximateDecoding decoding) {
  if (!(decoding.mean_coverage > 0)) return decoding;
  for (Complex& a : decoding.a) a /= decoding.mean_coverage;
  return Evaluate(form, std::move(decoding.a));
}

}  // namespace motley
