// SPDX-License-Identifier: Apache-2.0
#include "coding/partial_code.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "coding/part_sums.h"

namespace motley {
namespace {

// Where worker `worker` finished chunk i: its place in the worker's list.
struct Finished {
  WorkerId worker = 0;
  size_t place = 0;
};

Result<std::vector<std::vector<Finished>>> HoldersOf(uint32_t workers, uint32_t chunks,
                                                     const WorkLists& finished) {
  if (finished.size() != workers) {
    return Status::InvalidArgument(
        fmt::format("{} lists of finished chunks for {} workers", finished.size(), workers));
  }
  std::vector<std::vector<Finished>> holders(chunks);
  for (WorkerId worker = 0; worker < workers; ++worker) {
    for (size_t place = 0; place < finished[worker].size(); ++place) {
      const PartitionId chunk = finished[worker][place];
      const bool known = chunk < chunks;
      if (!known || (!holders[chunk].empty() && holders[chunk].back().worker == worker)) {
        return Status::InvalidArgument(
            fmt::format("worker {} says that it finished chunk {} of {}{}", worker, chunk, chunks,
                        known ? " twice" : ""));
      }
      holders[chunk].push_back({worker, place});
    }
  }
  return holders;
}

// What the holders of one chunk send, by holder and part: X of least error and norm, with as many
// of the directions, from the one that they share most of, as keep every |x| within `most`.
Eigen::MatrixXd SolveWithin(const Eigen::MatrixXd& transposed, double most) {
  const Eigen::Index parts = transposed.rows();
  Eigen::MatrixXd x =
      transposed.completeOrthogonalDecomposition().solve(Eigen::MatrixXd::Identity(parts, parts));
  if (x.cwiseAbs().maxCoeff() <= most) return x;
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(transposed,
                                              Eigen::ComputeThinU | Eigen::ComputeThinV);
  for (Eigen::Index kept = svd.singularValues().size() - 1; kept > 0; --kept) {
    x = svd.matrixV().leftCols(kept) * svd.singularValues().head(kept).cwiseInverse().asDiagonal() *
        svd.matrixU().leftCols(kept).transpose();
    if (x.cwiseAbs().maxCoeff() <= most) return x;
  }
  return Eigen::MatrixXd::Zero(transposed.cols(), parts);
}

}  // namespace

Result<PartialCode> MakePartialCode(uint32_t workers, uint32_t parts) {
  if (parts < 1 || parts > workers) {
    return Status::InvalidArgument(
        fmt::format("messages cannot be 1/{} of a gradient with {} workers: 1 to {} parts", parts,
                    workers, workers));
  }
  PartialCode code{workers, parts, {}};
  auto stride = std::max(1U, static_cast<uint32_t>(workers * (std::numbers::phi - 1)));
  while (std::gcd(stride, workers) != 1) ++stride;
  for (WorkerId worker = 0; worker < workers; ++worker) {
    const uint64_t place = uint64_t{worker} * stride % workers;
    const double angle = 2 * std::numbers::pi * static_cast<double>(place) / workers;
    double frequency = 0.5;
    if (parts % 2 == 1) {
      code.r.push_back(std::sqrt(1.0 / parts));
      frequency = 1;
    }
    for (uint32_t pair = 0; pair < parts / 2; ++pair, ++frequency) {
      code.r.push_back(std::sqrt(2.0 / parts) * std::cos(frequency * angle));
      code.r.push_back(std::sqrt(2.0 / parts) * std::sin(frequency * angle));
    }
  }
  return code;
}

Result<PartialPlan> PlanPartial(const PartialCode& code, uint32_t chunks, const WorkLists& finished,
                                const DecodeLimits& limits) {
  MOTLEY_ASSIGN_OR_RETURN(const auto holders, HoldersOf(code.workers, chunks, finished));
  PartialPlan plan;
  plan.entries.resize(code.workers);
  for (WorkerId worker = 0; worker < code.workers; ++worker) {
    for (PartitionId chunk : finished[worker]) {
      plan.entries[worker].push_back({chunk, std::vector<Complex>(code.parts)});
    }
  }
  const auto parts = static_cast<Eigen::Index>(code.parts);
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(parts, parts);
  const double most = limits.tolerance / std::numeric_limits<float>::epsilon();
  for (const auto& those : holders) {
    Eigen::MatrixXd transposed(parts, static_cast<Eigen::Index>(those.size()));
    for (Eigen::Index h = 0; h < transposed.cols(); ++h) {
      for (Eigen::Index u = 0; u < parts; ++u) {
        transposed(u, h) = code.R(those[h].worker, static_cast<uint32_t>(u));
      }
    }
    if (those.empty()) {
      plan.squared_error += code.parts;
      continue;
    }
    const Eigen::MatrixXd x = SolveWithin(transposed, most);
    plan.squared_error += (transposed * x - identity).squaredNorm();
    plan.amplification = std::max(plan.amplification, x.cwiseAbs().maxCoeff());
    for (Eigen::Index h = 0; h < x.rows(); ++h) {
      auto& weights = plan.entries[those[h].worker][those[h].place].weights;
      for (Eigen::Index u = 0; u < parts; ++u) weights[u] = x(h, u);
    }
  }
  return plan;
}

void EncodePartial(const PartialEntry& entry, std::span<const float> gradient,
                   std::span<float> message, ParallelFor& parallel) {
  AddParts(Field::kReal, entry.weights, gradient, message, parallel);
}

void DecodePartial(const PartialCode& code, std::span<const std::span<const float>> messages,
                   std::span<float> sum, ParallelFor& parallel) {
  const std::vector<Complex> weights(code.r.begin(), code.r.end());
  WriteParts(Field::kReal, weights, code.parts, messages, sum, parallel);
}

}  // namespace motley
