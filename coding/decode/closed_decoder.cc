// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>
#include <algorithm>
#include <utility>

#include "coding/decode/c_shape.h"
#include "coding/decode/decoder.h"
#include "coding/decode/decoder_checks.h"
#include "coding/decode/least_norm.h"

namespace motley {
namespace {

// The coefficients in y of prod_{l in S} (1 - y / z_l). This polynomial is a at the nodes, and 1 at
// 0, so x v = 1.
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

// Every whole class gives the sum. In proportion to 1 / members, all of them together minimise ||x
// C||.
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

// The x of least norm with x C_S = 0 and x V = I.
template <typename T>
std::vector<Complex> LeastNormWeights(const CodeForm& form, std::span<const RowId> missing) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  const auto lost = static_cast<Eigen::Index>(missing.size());
  const Eigen::Index parts = form.parts;
  Matrix matrix(lost + parts, Eigen::Index{form.accumulators});
  for (Eigen::Index t = 0; t < matrix.cols(); ++t) {
    for (Eigen::Index i = 0; i < lost; ++i) {
      matrix(i, t) = Convert<T>(form.C(static_cast<uint32_t>(t), missing[i]));
    }
    for (uint32_t u = 0; u < parts; ++u) {
      matrix(lost + u, t) = Convert<T>(form.V(static_cast<uint32_t>(t), u));
    }
  }
  Matrix rhs = Matrix::Zero(matrix.rows(), parts);
  rhs.bottomRows(parts).setIdentity();
  const Matrix x = LeastNorm(matrix, rhs);
  return {x.data(), x.data() + x.size()};  // Column-major, so part by part.
}

std::vector<Complex> Weights(const CodeForm& form, CShape shape, std::span<const RowId> missing) {
  if (shape == CShape::kClasses) return ClassWeights(form, missing);
  if (shape == CShape::kNodes && (missing.size() == form.stragglers || missing.empty())) {
    return ProductWeights(form, missing);
  }
  return form.field == Field::kReal ? LeastNormWeights<double>(form, missing)
                                    : LeastNormWeights<Complex>(form, missing);
}

// The largest |x V - I| of part u.
double MissedTarget(const CodeForm& form, std::span<const Complex> x, uint32_t u) {
  double worst = 0;
  for (uint32_t part = 0; part < form.parts; ++part) {
    Complex target = part == u ? -1 : 0;
    for (uint32_t r = 0; r < form.accumulators; ++r) target += x[r] * form.V(r, part);
    worst = std::max(worst, std::abs(target));
  }
  return worst;
}

// a = x C, with zeros for the missing rows. The values set to zero bound the residual, since x C
// B = x V for every partition.
DecodingVector FromWeights(const CodeForm& form, std::vector<Complex> x,
                           std::span<const RowId> missing) {
  DecodingVector result;
  const size_t m = form.parts;
  result.a.assign(form.workers * m, 0);
  for (uint32_t u = 0; u < m; ++u) {
    const std::span<const Complex> weights =
        std::span(x).subspan(size_t{u} * form.accumulators, form.accumulators);
    for (uint32_t r = 0; r < form.accumulators; ++r) {
      if (weights[r] == Complex(0)) continue;
      const Complex* c = form.c.data() + size_t{r} * form.workers;
      for (RowId row = 0; row < form.workers; ++row) result.a[row * m + u] += weights[r] * c[row];
    }
    double lost = 0;
    for (RowId row : missing) lost += std::abs(std::exchange(result.a[row * m + u], 0));
    result.residual =
        std::max(result.residual, MissedTarget(form, weights, u) + lost * LargestCoefficient(form));
  }
  result.x = std::move(x);
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
