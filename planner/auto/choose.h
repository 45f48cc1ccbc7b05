// SPDX-License-Identifier: Apache-2.0
// Chooses the scheme of a job by what is known about its workers. `motley plan` knows a profile; a
// job knows its observations. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "planner/planner.h"
#include "scheduler/choice_reason.h"

namespace motley {

// A job begins with one of these, and its first choice is compared with them.
inline const Candidate kLeases = {"adaptive", 1};
inline const Candidate kPlain = {"none", 1};

// The ratio of a scheme's measured step time to the one that the model and the replayed rounds
// gave. It holds for any number of copies.
struct Experience {
  std::string scheme;
  double factor = 1;
  StepId step = 0;  // The step of the last measurement.
};

struct ChoiceRequest {
  Candidate running = kLeases;
  bool first = true;  // `running` is only the start: a small gain is enough for a change.
  std::vector<Experience> before;
  bool unweighted = false;  // Only schemes whose sums weigh no answers.
};

// Leases with copies compute nothing twice, but cost messages, and `moving_seconds` for sending the
// copies. True if that is little compared to `steps` steps.
bool InsuranceIsCheap(double step_seconds, double moving_seconds, uint64_t steps);

// The ratio of measured to predicted times of `running` in the rounds of `cluster`. nullopt if
// there are too few rounds.
std::optional<double> FactorOf(const Candidate& running, const Ranking& ranking,
                               const PlannedCluster& cluster);

// Returns the scheme to run from now on. It is `running` unless another one gains a large enough
// part of a step. Within the remaining steps, the gain must also pay twice for sending the data,
// and with more copies it must be at least kLeastGainSeconds per step. Schemes that no job can run
// are skipped. nullopt if none serves.
std::optional<Candidate> Choose(const ChoiceRequest& request, const Ranking& ranking,
                                const PlannedCluster& cluster);

// The candidate's entry in the ranking. Null if there is none or it is refused.
const PlannedScheme* Foreseen(const Candidate& candidate, const Ranking& ranking);
// "adaptive, 2 copies", "none"
std::string NameOfChoice(const Candidate& candidate);
// Explains the choice. `workers` gives the number of each worker of `cluster`; empty: its index.
ChoiceReason WhyChosen(const Candidate& chosen, const Ranking& ranking,
                       const PlannedCluster& cluster, const std::vector<WorkerId>& workers = {});

}  // namespace motley
