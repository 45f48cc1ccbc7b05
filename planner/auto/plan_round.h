// SPDX-License-Identifier: Apache-2.0
// Ranks the schemes that jobs can run, one candidate per call, so that no call takes long and the
// caller can do other work in between. Pure and deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/planner.h"

namespace motley {

struct RoundRequest {
  PlannedCluster cluster;
  std::vector<WorkerId> workers;  // The numbers of the cluster's workers, in its order.
  uint32_t partitions = 0;
  uint32_t tolerate = 0;           // At least this many workers may be missing.
  uint32_t most_sums = 0;          // Vectors that the server has room for; 0: any number.
  std::vector<Candidate> without;  // Candidates that turned out not to work.
  // The running candidate. If it has rows of fewer workers, it is tried again even when another
  // number of workers now seems best.
  std::optional<Candidate> running;
};

class PlanRound {
 public:
  explicit PlanRound(RoundRequest request);

  bool done() const { return next_ == candidates_.size(); }
  // Tries one candidate, which takes some milliseconds. Returns an estimate of the seconds that it
  // took, by its number of events. No clock is read, so a plan only depends on what was learned.
  double TryNext();
  // Call when done. kInvalidArgument if no scheme serves.
  Result<Ranking> Rank() const;
  const RoundRequest& request() const { return request_; }

 private:
  PlanOptions Options() const;

  RoundRequest request_;
  std::vector<Candidate> candidates_;
  std::vector<PlannedScheme> tried_;
  size_t next_ = 0;
};

}  // namespace motley
