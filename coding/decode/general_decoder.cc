// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>

#include "coding/decode/decoder.h"
#include "coding/decode/decoder_checks.h"
#include "coding/decode/least_norm.h"

namespace motley {
namespace {

// A column of B for one part: (row, coefficient) for each present row, ascending. Runs of equal
// columns count once, because codes give whole runs of partitions the same coefficients.
using Column = std::vector<std::pair<RowId, Complex>>;

std::vector<Column> DistinctColumns(const CodeForm& form, const std::vector<bool>& present,
                                    uint32_t part) {
  std::vector<Column> columns(form.partitions);
  for (RowId row = 0; row < form.workers; ++row) {
    if (!present[row]) continue;
    for (size_t e = 0; e < form.rows[row].size(); ++e) {
      columns[form.rows[row][e].partition].emplace_back(row, form.B(row, e, part));
    }
  }
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

// For each part, weights that give 1 on the part's columns and 0 on those of the others.
template <typename T>
std::vector<Complex> LeastSquares(const CodeForm& form, const std::vector<bool>& present) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  std::vector<std::vector<Column>> columns;
  size_t count = 0;
  for (uint32_t part = 0; part < form.parts; ++part) {
    columns.push_back(DistinctColumns(form, present, part));
    count += columns.back().size();
  }
  const auto conditions = static_cast<Eigen::Index>(count);
  Matrix transposed = Matrix::Zero(conditions, Eigen::Index{form.workers});
  Matrix wanted = Matrix::Zero(conditions, Eigen::Index{form.parts});
  Eigen::Index next = 0;
  for (uint32_t part = 0; part < form.parts; ++part) {
    for (const Column& column : columns[part]) {
      for (const auto& [row, coefficient] : column) transposed(next, row) = Convert<T>(coefficient);
      wanted(next++, part) = 1;
    }
  }
  const Matrix a = LeastNorm(transposed, wanted);
  std::vector<Complex> by_row;
  for (Eigen::Index row = 0; row < a.rows(); ++row) {
    for (Eigen::Index part = 0; part < a.cols(); ++part) by_row.emplace_back(a(row, part));
  }
  return by_row;
}

}  // namespace

Result<DecodingVector> SolveGeneral(const CodeForm& form, const std::vector<bool>& present,
                                    const DecodeLimits& limits) {
  MOTLEY_RETURN_IF_ERROR(CheckPresent(form, present));
  DecodingVector result;
  result.a = form.field == Field::kReal ? LeastSquares<double>(form, present)
                                        : LeastSquares<Complex>(form, present);
  for (RowId row = 0; row < form.workers; ++row) {
    if (!present[row]) std::fill_n(result.a.begin() + row * form.parts, form.parts, Complex(0));
  }
  result.residual = DecodingResidual(form, result.a);
  return Accept(form, std::move(result), MissingRows(form, present).size(), limits);
}

}  // namespace motley
