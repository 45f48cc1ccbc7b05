// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/least_norm.h"

#include <Eigen/QR>
#include <algorithm>
#include <limits>

namespace motley {
namespace {

template <typename Matrix>
Matrix Solve(const Matrix& a, const Matrix& b) {
  Eigen::CompleteOrthogonalDecomposition<Matrix> decomposition(a.rows(), a.cols());
  decomposition.setThreshold(std::numeric_limits<double>::epsilon() *
                             static_cast<double>(std::max(a.rows(), a.cols())));
  decomposition.compute(a);
  return decomposition.solve(b);
}

}  // namespace

Eigen::MatrixXd LeastNorm(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return Solve(a, b);
}

Eigen::MatrixXcd LeastNorm(const Eigen::MatrixXcd& a, const Eigen::MatrixXcd& b) {
  return Solve(a, b);
}

}  // namespace motley
