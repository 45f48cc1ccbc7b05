// SPDX-License-Identifier: Apache-2.0
// Solves dense linear systems. The templates of these decompositions are large, so they are
// compiled here, once.
#pragma once

#include <Eigen/Core>
#include <type_traits>

#include "coding/code_form.h"

namespace motley {

// The value as an element of a real or a complex matrix.
template <typename T>
T Convert(Complex value) {
  if constexpr (std::is_same_v<T, double>) {
    return value.real();
  } else {
    return value;
  }
}

// The x of least norm among those that minimise |a x - b| (Frobenius norm), x = A^+ b. Uses a
// complete orthogonal decomposition (Golub and Van Loan, Matrix Computations, 4th ed., 5.5), for
// any shape and rank. A pivot counts if, relative to the largest, it is at least the machine
// precision times the larger dimension. Eigen's default is lower, and long equal columns differ by
// more than that through rounding.
Eigen::MatrixXd LeastNorm(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);
Eigen::MatrixXcd LeastNorm(const Eigen::MatrixXcd& a, const Eigen::MatrixXcd& b);

}  // namespace motley
