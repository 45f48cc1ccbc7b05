// SPDX-License-Identifier: Apache-2.0
#include "coding/least_norm.h"

#include <Eigen/QR>

namespace motley {

Eigen::MatrixXd LeastNorm(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return a.completeOrthogonalDecomposition().solve(b);
}

Eigen::MatrixXcd LeastNorm(const Eigen::MatrixXcd& a, const Eigen::MatrixXcd& b) {
  return a.completeOrthogonalDecomposition().solve(b);
}

}  // namespace motley
