// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/cyclic_code.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "coding/decode/decoder.h"
#include "coding/placement/placement.h"
#include "coding/placement/small_solve.h"
#include "coding/placement/straggler_sets.h"

namespace motley {
namespace {

// There are at least kDraws draws. More follow, up to a limit, while the norm guard would now and
// then refuse even the best. All straggler sets of a small code are scored, so it reaches the goal;
// a large code never does.
constexpr uint32_t kDraws = 20;
constexpr uint32_t kMostDraws = 60;
constexpr uint32_t kMostDrawsSmall = 500;
constexpr uint32_t kSmall = 20;  // n s, for example n = 10, s = 2.
constexpr double kGoodScore = 60;
// Bounds the n x n matrices. Random codes stop being useful far below this.
constexpr uint32_t kMostWorkers = 512;
constexpr uint64_t kScoredSets = 48;
constexpr double kUnusable = std::numeric_limits<double>::infinity();

using Matrix = Eigen::MatrixXd;

struct Candidate {
  Matrix b;  // n x n: worker by group.
  Matrix c;  // (s + 1) x n with c b = e_0 * scale * 1^T; rows orthonormal.
  double scale = 0;
};

// H: s x n, row-major, with normal entries and a last column that makes every row sum to 0.
std::vector<double> DrawH(uint32_t n, uint32_t s, Random& random) {
  std::vector<double> h(size_t{s} * n);
  for (uint32_t row = 0; row < s; ++row) {
    double sum = 0;
    for (uint32_t column = 0; column + 1 < n; ++column) {
      const double value = random.Normal();
      h[size_t{row} * n + column] = value;
      sum += value;
    }
    h[size_t{row} * n + n - 1] = -sum;
  }
  return h;
}

// Row i is 1 at i and -H_W^{-1} h_i at W = i+1, ..., i+s (mod n), then scaled to a largest entry 1.
bool FillRow(const std::vector<double>& h, uint32_t s, uint32_t i, Matrix& b) {
  const auto n = static_cast<uint32_t>(b.rows());
  std::vector<double> matrix(size_t{s} * s);
  std::vector<double> rhs(s);
  for (uint32_t row = 0; row < s; ++row) {
    for (uint32_t t = 0; t < s; ++t) {
      matrix[size_t{row} * s + t] = h[size_t{row} * n + (i + 1 + t) % n];
    }
    rhs[row] = -h[size_t{row} * n + i];
  }
  if (!SolveSmall<double>(matrix, rhs)) return false;
  double largest = 1;
  for (double value : rhs) largest = std::max(largest, std::abs(value));
  if (!std::isfinite(largest)) return false;
  b(i, i) = 1 / largest;
  for (uint32_t t = 0; t < s; ++t) b(i, (i + 1 + t) % n) = rhs[t] / largest;
  return true;
}

// B has rank n - s. The rows of C are a basis of its left null space, and the c of least norm with
// c B = 1^T, scaled to norm 1. Both come from one pivoted QR, B P = Q R.
bool FillC(uint32_t s, Candidate& candidate) {
  const Eigen::Index n = candidate.b.rows();
  const Eigen::Index rank = n - s;
  const Eigen::ColPivHouseholderQR<Matrix> qr(candidate.b);
  // c = Q1 y, where R11^T y is the pivoted 1.
  Matrix basis = Matrix::Zero(n, s + 1);
  basis.col(0).head(rank) = qr.matrixR()
                                .topLeftCorner(rank, rank)
                                .triangularView<Eigen::Upper>()
                                .transpose()
                                .solve(Eigen::VectorXd::Ones(rank));
  const double norm = basis.col(0).norm();
  if (!std::isfinite(norm) || !(norm > 0)) return false;
  candidate.scale = 1 / norm;
  basis.col(0) *= candidate.scale;
  for (uint32_t t = 0; t < s; ++t) basis(rank + t, t + 1) = 1;
  basis.applyOnTheLeft(qr.householderQ());
  candidate.c = basis.transpose();
  return true;
}

bool Draw(uint32_t n, uint32_t s, Random& random, Candidate& candidate) {
  const std::vector<double> h = DrawH(n, s, random);
  candidate.b = Matrix::Zero(n, n);
  for (uint32_t i = 0; i < n; ++i) {
    if (!FillRow(h, s, i, candidate.b)) return false;
  }
  return FillC(s, candidate);
}

// ||a||_inf for missing workers S, |S| = s: x C_S = 0, x v = 1, a = x C. max |B| is 1.
double Amplification(const Candidate& candidate, std::span<const WorkerId> missing,
                     std::vector<double>& matrix, std::vector<double>& x) {
  const size_t size = missing.size() + 1;
  matrix.assign(size * size, 0);
  x.assign(size, 0);
  for (size_t row = 0; row < missing.size(); ++row) {
    for (size_t t = 0; t < size; ++t) matrix[row * size + t] = candidate.c(t, missing[row]);
  }
  matrix[missing.size() * size] = candidate.scale;
  x[missing.size()] = 1;
  if (!SolveSmall<double>(matrix, x)) return kUnusable;
  const Eigen::Map<const Eigen::RowVectorXd> weights(x.data(), static_cast<Eigen::Index>(size));
  const double largest = (weights * candidate.c).cwiseAbs().maxCoeff();
  return std::isfinite(largest) ? largest : kUnusable;
}

double Score(const Candidate& candidate, const std::vector<std::vector<WorkerId>>& sets,
             double give_up) {
  double worst = 0;
  std::vector<double> matrix;
  std::vector<double> x;
  for (const auto& missing : sets) {
    worst = std::max(worst, Amplification(candidate, missing, matrix, x));
    if (worst >= give_up) break;
  }
  return worst;
}

void Fill(const Candidate& best, CodeForm& form) {
  const uint32_t n = form.workers;
  for (uint32_t group = 0; group < n; ++group) {
    const PartitionId begin = GroupBegin(group, n, form.partitions);
    const PartitionId end = GroupBegin(group + 1, n, form.partitions);
    for (uint32_t t = 0; t <= form.stragglers; ++t) {
      const uint32_t row = (group + n - t) % n;
      AppendRun(begin, end, best.b(row, group), form.rows[row]);
    }
  }
  form.accumulators = form.stragglers + 1;
  form.v.assign(form.accumulators, 0);
  form.v[0] = best.scale;
  for (uint32_t r = 0; r < form.accumulators; ++r) {
    for (uint32_t i = 0; i < n; ++i) form.c.push_back(best.c(r, i));
  }
  Finish(form);
}

}  // namespace

Result<CodeForm> BuildCyclicCode(const CodeRequest& request) {
  CodeForm form = EmptyForm("cyclic", request);
  const uint32_t n = form.workers;
  const uint32_t s = form.stragglers;
  if (n > kMostWorkers) {
    return Status::InvalidArgument(
        fmt::format("code \"cyclic\" serves at most {} workers, not {}; use rs", kMostWorkers, n));
  }
  Random random(request.seed, Stream::kCode, n, s);
  const auto sets = StragglerSets(n, s, kScoredSets, random);
  Candidate best;
  double best_score = kUnusable;
  const uint32_t most = s == 0 ? 1 : n * s <= kSmall ? kMostDrawsSmall : kMostDraws;
  for (uint32_t draw = 0; draw < most && (draw < kDraws || best_score > kGoodScore); ++draw) {
    Candidate candidate;
    if (!Draw(n, s, random, candidate)) continue;
    const double score = Score(candidate, sets, best_score);
    if (score < best_score) {
      best_score = score;
      best = std::move(candidate);
    }
  }
  if (best_score < kUnusable) {
    Fill(best, form);
    // A step would never end under a code that the norm guard refuses even with all answers.
    if (Validate(form).ok() && Solve(form, std::vector<bool>(n, true)).ok()) return form;
  }
  return Status::InvalidArgument(
      fmt::format("code \"cyclic\" has no usable random coefficients for {} workers and {} "
                  "stragglers; use rs, or tolerate fewer stragglers",
                  n, s));
}

}  // namespace motley
