// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/partial_code.h"

#include <fmt/format.h>

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "coding/decode/least_norm.h"

namespace motley {
namespace {

constexpr double kSolved = 1e-6;  // A direction that is left out leaves about 1.

// A finished chunk's place in the list of worker `worker`.
struct Finished {
  WorkerId worker = 0;
  size_t place = 0;
};

Result<std::vector<std::vector<Finished>>> HoldersOf(uint32_t workers, uint32_t chunks,
                                                     const WorkLists& finished) {
  if (finished.size() != workers) {
    return Status::InvalidArgument(
        fmt::format("got {} lists of finished chunks for {} workers", finished.size(), workers));
  }
  std::vector<std::vector<Finished>> holders(chunks);
  for (WorkerId worker = 0; worker < workers; ++worker) {
    for (size_t place = 0; place < finished[worker].size(); ++place) {
      const PartitionId chunk = finished[worker][place];
      const bool known = chunk < chunks;
      if (!known || (!holders[chunk].empty() && holders[chunk].back().worker == worker)) {
        return Status::InvalidArgument(fmt::format("worker {} reports chunk {} of {} as finished{}",
                                                   worker, chunk, chunks, known ? " twice" : ""));
      }
      holders[chunk].push_back({worker, place});
    }
  }
  return holders;
}

// Solves for X by holder and part, with the least error and norm. It uses as many directions as
// keep every |x| within `most`, starting with the direction that the holders share most of.
Eigen::MatrixXd SolveWithin(const Eigen::MatrixXd& transposed, double most) {
  const Eigen::Index parts = transposed.rows();
  const Eigen::MatrixXd wanted = Eigen::MatrixXd::Identity(parts, parts);
  Eigen::MatrixXd x = LeastNorm(transposed, wanted);
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

struct ChunkSolution {
  Eigen::MatrixXd x;  // By holder and part.
  double error = 0;   // Squared.
};

ChunkSolution SolveChunk(const PartialCode& code, std::span<const WorkerId> holders,
                         const DecodeLimits& limits) {
  const auto parts = static_cast<Eigen::Index>(code.parts);
  if (holders.empty()) return {Eigen::MatrixXd(0, parts), static_cast<double>(code.parts)};
  Eigen::MatrixXd transposed(parts, static_cast<Eigen::Index>(holders.size()));
  for (Eigen::Index h = 0; h < transposed.cols(); ++h) {
    for (Eigen::Index u = 0; u < parts; ++u) {
      transposed(u, h) = code.R(holders[static_cast<size_t>(h)], static_cast<uint32_t>(u));
    }
  }
  const double most = limits.tolerance / std::numeric_limits<float>::epsilon();
  ChunkSolution solution{SolveWithin(transposed, most), 0};
  solution.error =
      (transposed * solution.x - Eigen::MatrixXd::Identity(parts, parts)).squaredNorm();
  return solution;
}

bool SomePairSolves(const PartialCode& code, std::span<const WorkerId> holders,
                    const DecodeLimits& limits) {
  const double least = std::numeric_limits<float>::epsilon() / limits.tolerance;
  for (size_t i = 0; i < holders.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double determinant = code.R(holders[i], 0) * code.R(holders[j], 1) -
                                 code.R(holders[i], 1) * code.R(holders[j], 0);
      if (std::abs(determinant) >= least) return true;
    }
  }
  return false;
}

}  // namespace

Result<PartialCode> MakePartialCode(uint32_t workers, uint32_t parts) {
  if (parts < 1 || parts > workers) {
    return Status::InvalidArgument(
        fmt::format("messages cannot be 1/{} of a gradient with {} workers; use 1 to {} parts",
                    parts, workers, workers));
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
  std::vector<WorkerId> workers;
  for (const auto& those : holders) {
    workers.clear();
    for (const Finished& each : those) workers.push_back(each.worker);
    const ChunkSolution solution = SolveChunk(code, workers, limits);
    plan.squared_error += solution.error;
    if (those.empty()) continue;
    plan.amplification = std::max(plan.amplification, solution.x.cwiseAbs().maxCoeff());
    for (size_t h = 0; h < those.size(); ++h) {
      auto& weights = plan.entries[those[h].worker][those[h].place].weights;
      for (size_t u = 0; u < code.parts; ++u) {
        weights[u] = solution.x(static_cast<Eigen::Index>(h), static_cast<Eigen::Index>(u));
      }
    }
  }
  return plan;
}

double ChunkError(const PartialCode& code, std::span<const WorkerId> holders,
                  const DecodeLimits& limits) {
  return SolveChunk(code, holders, limits).error;
}

bool SolvesChunk(const PartialCode& code, std::span<const WorkerId> holders,
                 const DecodeLimits& limits) {
  if (holders.size() < code.parts) return false;
  // Rows have length 1, so any worker solves one part, and any two that are far enough apart solve
  // two parts.
  if (code.parts == 1) return true;
  if (code.parts == 2 && SomePairSolves(code, holders, limits)) return true;
  return ChunkError(code, holders, limits) < kSolved;
}

}  // namespace motley
