// SPDX-License-Identifier: Apache-2.0
// Dense linear systems whose decompositions are too large for every file that needs one: compiled
// once here.
#pragma once

#include <Eigen/Core>

namespace motley {

// Of all x that minimise |a x - b| (Frobenius norm) the one of least norm, x = A^+ b, by a complete
// orthogonal decomposition (Golub and Van Loan, Matrix Computations, 4th ed., 5.5): any shape and
// rank. A pivot counts from the machine precision times the larger dimension on, of the largest:
// rounding grows with how long columns are, and equal long ones differ by more than Eigen's
// default.
Eigen::MatrixXd LeastNorm(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);
Eigen::MatrixXcd LeastNorm(const Eigen::MatrixXcd& a, const Eigen::MatrixXcd& b);

}  // namespace motley
