// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Dense>

#include "coding/decoder.h"
#include "coding/decoder_checks.h"

namespace motley {
namespace {

// Columns of B, each a list of (row, coefficient) in ascending order of rows, restricted to the
// rows that are present; runs of equal columns once, because codes give whole runs the same
// coefficients.
using Column = std::vector<std::pair<RowId, Complex>>;

std::vector<Column> DistinctColumns(const CodeForm& form, const std::vector<bool>& present) {
  std::vector<Column> columns(form.partitions);
  for (RowId row = 0; row < form.workers; ++row) {
    if (!present[row]) continue;
    for (const CodeEntry& entry : form.rows[row]) {
      columns[entry.partition].emplace_back(row, entry.coefficient);
    }
  }
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

template <typename T>
T Convert(Complex value) {
  if constexpr (std::is_same_v<T, double>) {
    return value.real();
  } else {
    return value;
  }
}

template <typename T>
std::vector<Complex> LeastSquares(const CodeForm& form, const std::vector<Column>& columns) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  Matrix transposed =
      Matrix::Zero(static_cast<Eigen::Index>(columns.size()), Eigen::Index{form.workers});
  for (size_t j = 0; j < columns.size(); ++j) {
    for (const auto& [row, coefficient] : columns[j]) {
      transposed(static_cast<Eigen::Index>(j), row) = Convert<T>(coefficient);
    }
  }
  const Vector a = transposed.completeOrthogonalDecomposition().solve(
      Vector(Vector::Ones(static_cast<Eigen::Index>(columns.size()))));
  return {a.data(), a.data() + a.size()};
}

}  // namespace

Result<DecodingVector> SolveGeneral(const CodeForm& form, const std::vector<bool>& present,
                                    const DecodeLimits& limits) {
  MOTLEY_RETURN_IF_ERROR(CheckPresent(form, present));
  const std::vector<Column> columns = DistinctColumns(form, present);
  DecodingVector result;
  result.a = form.field == Field::kReal ? LeastSquares<double>(form, columns)
                                        : LeastSquares<Complex>(form, columns);
  for (RowId row = 0; row < form.workers; ++row) {
    if (!present[row]) result.a[row] = 0;
  }
  result.residual = DecodingResidual(form, result.a);
  return Accept(form, std::move(result), MissingRows(form, present).size(), limits);
}

}  // namespace motley
