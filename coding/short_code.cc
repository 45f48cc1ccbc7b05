// SPDX-License-Identifier: Apache-2.0
#include "coding/short_code.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <limits>
#include <numeric>

#include "coding/allocation.h"
#include "coding/cyclic_walk.h"
#include "coding/part_sums.h"

namespace motley {
namespace {

using Matrix = Eigen::MatrixXcd;

// t_u: the lower half of the parts from 0 up, the others up to d - 1.
uint32_t PowerOfPart(const ShortCode& code, uint32_t part) {
  return part < (code.parts + 1) / 2 ? part : code.stragglers + part;
}

// C restricted to some workers: their powers 0, ..., d - 1 in columns.
Matrix Powers(const ShortCode& code, std::span<const WorkerId> workers) {
  Matrix powers(Eigen::Index{code.copies()}, static_cast<Eigen::Index>(workers.size()));
  for (Eigen::Index i = 0; i < powers.cols(); ++i) {
    Complex power = 1;
    for (Eigen::Index t = 0; t < powers.rows(); ++t) {
      powers(t, i) = power;
      power *= code.nodes[workers[i]];
    }
  }
  return powers;
}

// E[W,i,u]: a holder in each row, a part in each column.
Matrix HolderWeights(const ShortCode& code, std::span<const WorkerId> holders) {
  Matrix wanted = Matrix::Zero(Eigen::Index{code.copies()}, Eigen::Index{code.parts});
  for (uint32_t part = 0; part < code.parts; ++part) wanted(PowerOfPart(code, part), part) = 1;
  return Powers(code, holders).fullPivLu().solve(wanted);
}

// X: 1 at the parts' own powers, and what takes the missing workers out at the s others.
Matrix LeastNormX(const ShortCode& code, const Matrix& missing_powers) {
  const auto first = Eigen::Index{(code.parts + 1) / 2};
  const auto count = Eigen::Index{code.stragglers};
  Matrix x = Matrix::Zero(Eigen::Index{code.parts}, Eigen::Index{code.copies()});
  Matrix own(missing_powers.cols(), x.rows());
  for (uint32_t part = 0; part < code.parts; ++part) {
    x(part, PowerOfPart(code, part)) = 1;
    own.col(part) = missing_powers.row(PowerOfPart(code, part)).transpose();
  }
  if (missing_powers.cols() == 0) return x;
  const Matrix others = missing_powers.middleRows(first, count).transpose();
  const Matrix taken_out = others.completeOrthogonalDecomposition().solve(own);
  x.middleCols(first, count) = -taken_out.transpose();
  return x;
}

}  // namespace

Result<ShortCode> BuildShortCode(const CodeRequest& request, uint32_t parts) {
  ShortCode code;
  code.workers = static_cast<uint32_t>(request.speeds.size());
  code.partitions = request.partitions;
  code.stragglers = request.stragglers;
  code.parts = parts;
  if (parts < 1 || uint64_t{code.stragglers} + parts > code.workers) {
    return Status::InvalidArgument(fmt::format(
        "messages of 1/{} of a gradient that bear {} stragglers need {} copies of the data: from 1 "
        "part to as many copies as there are workers ({})",
        parts, code.stragglers, uint64_t{code.stragglers} + parts, code.workers));
  }
  if (code.partitions < code.workers) {
    return Status::InvalidArgument(
        fmt::format("{} partitions are too few for {} workers: at least one each", code.partitions,
                    code.workers));
  }
  const auto loads =
      Allocate(request.speeds, uint64_t{code.partitions} * code.copies(), code.partitions);
  const CyclicWalk walk = WalkInOrder(SpreadOrder(code.workers), loads);
  code.nodes = MiddleNodes(walk);
  code.rows.resize(code.workers);
  for (const HeldRun& held : HeldRuns(walk, code.partitions, code.copies())) {
    const Matrix weights = HolderWeights(code, held.holders);
    code.largest = std::max(code.largest, weights.cwiseAbs().maxCoeff());
    ShortRun run{held.begin, held.end, std::vector<Complex>(parts)};
    for (size_t h = 0; h < held.holders.size(); ++h) {
      for (uint32_t part = 0; part < parts; ++part) run.weights[part] = weights(h, part);
      code.rows[held.holders[h]].push_back(run);
    }
  }
  return code;
}

Result<ShortDecoding> SolveShort(const ShortCode& code, const std::vector<bool>& present,
                                 const DecodeLimits& limits) {
  if (present.size() != code.workers) {
    return Status::InvalidArgument(
        fmt::format("{} flags for {} workers", present.size(), code.workers));
  }
  std::vector<WorkerId> everybody(code.workers);
  std::iota(everybody.begin(), everybody.end(), 0);
  std::vector<WorkerId> missing;
  for (WorkerId worker : everybody) {
    if (!present[worker] && !code.rows[worker].empty()) missing.push_back(worker);
  }
  const std::string lack = fmt::format("{} of {} short messages are missing and the code bears {}",
                                       missing.size(), code.workers, code.stragglers);
  if (missing.size() > code.stragglers) return Status::NotDecodable(lack);
  const Matrix x = LeastNormX(code, Powers(code, missing));
  Matrix a = x * Powers(code, everybody);
  ShortDecoding decoding;
  for (WorkerId worker : missing) {
    decoding.residual += a.col(worker).cwiseAbs().maxCoeff() * code.largest;
    a.col(worker).setZero();
  }
  decoding.amplification = a.cwiseAbs().maxCoeff() * code.largest;
  decoding.weights.assign(a.data(), a.data() + a.size());  // Column-major: message by message.
  for (Eigen::Index part = 0; part < x.rows(); ++part) {
    for (Eigen::Index t = 0; t < x.cols(); ++t) decoding.x.push_back(x(part, t));
  }
  const double error = decoding.amplification * std::numeric_limits<float>::epsilon();
  if (decoding.residual <= limits.residual && error <= limits.tolerance) return decoding;
  return Status::NotDecodable(
      fmt::format("{}: the sum would lose too much precision (residual {:.3g}, rounding grows "
                  "{:.3g} times); one more answer is needed",
                  lack, decoding.residual, decoding.amplification));
}

size_t ShortLength(const ShortCode& code, size_t gradient_length) {
  return PartLength(Field::kComplexPacked, gradient_length, code.parts);
}

void EncodeShort(const ShortRun& run, std::span<const float> gradient, std::span<float> message,
                 ParallelFor& parallel) {
  AddParts(Field::kComplexPacked, run.weights, gradient, message, parallel);
}

void DecodeShort(const ShortCode& code, const ShortDecoding& decoding,
                 std::span<const std::span<const float>> messages, std::span<float> sum,
                 ParallelFor& parallel) {
  WriteParts(Field::kComplexPacked, decoding.weights, code.parts, messages, sum, parallel);
}

}  // namespace motley
