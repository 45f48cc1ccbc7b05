// SPDX-License-Identifier: Apache-2.0
// Dense linear systems whose decompositions are too large for every file that needs one: compiled
// once here.
#pragma once

#include <Eigen/Core>

namespace motley {

// Of all x that minimise |a x - b| (Frobenius norm) the one of least norm, x = A^+ b, by a complete
// orthogonal decomposition (Golub and Van Loan, Matrix Computations, 4th ed., 5.5): any shape and
// rank. Ranks are decided at Eigen's default threshold, the machine precision times the smaller
// dimension.
Eigen::MatrixXd LeastNorm(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);
Eigen::MatrixXcd LeastNorm(const Eigen::MatrixXcd& a, const Eigen::MatrixXcd& b);

}  // namespace motley
