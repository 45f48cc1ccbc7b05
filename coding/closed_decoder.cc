// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Dense>
#include <algorithm>

#include "coding/c_shape.h"
#include "coding/decoder.h"
#include "coding/decoder_checks.h"

namespace motley {
namespace {

// The coefficients of prod_{l in S} (1 - y / z_l) in y: its values at the nodes are a, and it is 1
// at 0, which is x v = 1.
std::vector<Complex> ProductWeights(const CodeForm& form, std::span<const RowId> missing) {
  std::vector<Complex> x(form.accumulators, 0);
  x[0] = 1;
  size_t degree = 0;
  for (RowId row : missing) {
    const Complex factor = -1.0 / form.nodes[row];
    ++degree;
    for (size_t t = degree; t > 0; --t) x[t] += factor * x[t - 1];
  }
  return x;
}

// Every class that is whole gives the sum; together, in proportion to 1 / members, they minimise
// ||x C||.
std::vector<Complex> ClassWeights(const CodeForm& form, std::span<const RowId> missing) {
  std::vector<double> members(form.accumulators, 0);
  for (uint32_t r = 0; r < form.accumulators; ++r) {
    for (RowId row = 0; row < form.workers; ++row) members[r] += form.C(r, row) != Complex(0);
    for (RowId row : missing) {
      if (form.C(r, row) != Complex(0)) members[r] = 0;
    }
  }
  double total = 0;
  for (double count : members) total += count > 0 ? 1 / count : 0;
  std::vector<Complex> x(form.accumulators, 0);
  for (uint32_t r = 0; r < form.accumulators; ++r) {
    if (members[r] > 0) x[r] = 1 / members[r] / total;
  }
  return x;
}

template <typename T>
T Convert(Complex value) {
  if constexpr (std::is_same_v<T, double>) {
    return value.real();
  } else {
    return value;
  }
}

// The x of least norm with x C_S = 0 and x v = 1.
template <typename T>
std::vector<Complex> LeastNormWeights(const CodeForm& form, std::span<const RowId> missing) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  const auto conditions = static_cast<Eigen::Index>(missing.size()) + 1;
  Matrix matrix(conditions, Eigen::Index{form.accumulators});
  for (Eigen::Index t = 0; t < matrix.cols(); ++t) {
    for (Eigen::Index i = 0; i + 1 < conditions; ++i) {
      matrix(i, t) = Convert<T>(form.C(static_cast<uint32_t>(t), missing[i]));
    }
    matrix(conditions - 1, t) = Convert<T>(form.v[t]);
  }
  Vector rhs = Vector::Zero(conditions);
  rhs(conditions - 1) = 1;
  const Vector x = matrix.completeOrthogonalDecomposition().solve(rhs);
  return {x.data(), x.data() + x.size()};
}

std::vector<Complex> Weights(const CodeForm& form, CShape shape, std::span<const RowId> missing) {
  if (shape == CShape::kClasses) return ClassWeights(form, missing);
  if (shape == CShape::kNodes && (missing.size() == form.stragglers || missing.empty())) {
    return ProductWeights(form, missing);
  }
  return form.field == Field::kReal ? LeastNormWeights<double>(form, missing)
                                    : LeastNormWeights<Complex>(form, missing);
}

// a = x C with zeros for the missing rows; what that throws away bounds the residual, since
// x C B = (x v) 1^T.
DecodingVector FromWeights(const CodeForm& form, std::vector<Complex> x,
                           std::span<const RowId> missing) {
  DecodingVector result;
  result.a.assign(form.workers, 0);
  Complex target = 0;
  for (uint32_t r = 0; r < form.accumulators; ++r) {
    target += x[r] * form.v[r];
    if (x[r] == Complex(0)) continue;
    const Complex* c = form.c.data() + size_t{r} * form.workers;
    for (RowId row = 0; row < form.workers; ++row) result.a[row] += x[r] * c[row];
  }
  double lost = 0;
  for (RowId row : missing) {
    lost += std::abs(result.a[row]);
    result.a[row] = 0;
  }
  result.x = std::move(x);
  result.residual = std::abs(target - 1.0) + lost * LargestCoefficient(form);
  return result;
}

}  // namespace

Result<DecodingVector> SolveClosed(const CodeForm& form, const std::vector<bool>& present,
                                   const DecodeLimits& limits) {
  MOTLEY_ASSERT(!form.tiling());
  MOTLEY_RETURN_IF_ERROR(CheckPresent(form, present));
  const std::vector<RowId> missing = MissingRows(form, present);
  const CShape shape = ShapeOfC(form);
  if (shape == CShape::kNodes && missing.size() > form.stragglers) {
    return Status::NotDecodable(DescribeMissing(form, missing.size()));
  }
  DecodingVector result = FromWeights(form, Weights(form, shape, missing), missing);
  return Accept(form, std::move(result), missing.size(), limits);
}

}  // namespace motley
