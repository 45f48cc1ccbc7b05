// SPDX-License-Identifier: Apache-2.0
// Solves the small dense systems that codes need by the thousand while they are built and scored.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <span>
#include <utility>

namespace motley {

// Solves matrix * x = rhs (n x n, row-major) by Gaussian elimination with partial pivoting. The
// solution replaces rhs, and the matrix is destroyed. Returns false when it is singular.
template <typename T>
bool SolveSmall(std::span<T> matrix, std::span<T> rhs) {
  const size_t n = rhs.size();
  const auto at = [&](size_t row, size_t column) -> T& { return matrix[row * n + column]; };
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row) {
      if (std::abs(at(row, column)) > std::abs(at(pivot, column))) pivot = row;
    }
    const double size = std::abs(at(pivot, column));
    if (!(size > 0) || !std::isfinite(size)) return false;
    if (pivot != column) {
      for (size_t c = column; c < n; ++c) std::swap(at(pivot, c), at(column, c));
      std::swap(rhs[pivot], rhs[column]);
    }
    for (size_t row = column + 1; row < n; ++row) {
      const T factor = at(row, column) / at(column, column);
      if (factor == T(0)) continue;
      for (size_t c = column + 1; c < n; ++c) at(row, c) -= factor * at(column, c);
      rhs[row] -= factor * rhs[column];
    }
  }
  for (size_t row = n; row-- > 0;) {
    for (size_t c = row + 1; c < n; ++c) rhs[row] -= at(row, c) * rhs[c];
    rhs[row] /= at(row, row);
  }
  return true;
}

}  // namespace motley
