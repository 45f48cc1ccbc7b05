// SPDX-License-Identifier: Apache-2.0
// A ranking of the schemes that jobs can run, made candidate by candidate, so that whoever makes it
// beside other work is never away for long. Pure and deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/planner.h"

namespace motley {

struct RoundRequest {
  PlannedCluster cluster;
  std::vector<WorkerId> workers;  // Whose they are, in that order.
  uint32_t partitions = 0;
  uint32_t tolerate = 0;           // At least so many workers may be missing.
  uint32_t most_sums = 0;          // Vectors that the server has room for; 0: any number.
  std::vector<Candidate> without;  // Those that proved to be of no use.
  // What runs: rows of fewer workers are tried again, also when another number of them seems best.
  std::optional<Candidate> running;
};

class PlanRound {
 public:
  explicit PlanRound(RoundRequest request);

  bool done() const { return next_ == candidates_.size(); }
  // Tries one; some milliseconds. Returns what it will have taken, by count of its events: no
  // clock, so that a plan follows from what was learned alone.
  double TryNext();
  // When done: kInvalidArgument when nothing serves.
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
