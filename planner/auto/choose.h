// SPDX-License-Identifier: Apache-2.0
// What a job runs, given what is known of its workers: `motley plan` asks with a profile, a job
// with what it observed. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "planner/planner.h"

namespace motley {

// What a job begins with, and the first choice is compared with.
inline const Candidate kLeases = {"adaptive", 1};
inline const Candidate kPlain = {"none", 1};

// Steps of a scheme took so many times what the model and the replayed rounds said. It holds for
// any number of copies.
struct Experience {
  std::string scheme;
  double factor = 1;
  StepId step = 0;  // When it was seen last.
};

struct ChoiceRequest {
  Candidate running = kLeases;
  bool first = true;  // `running` was not chosen: a small gain is enough.
  std::vector<Experience> before;
};

// Copies that are leased compute nothing twice. They cost messages, and sending them takes so long:
// whether that is little beside so many steps.
bool InsuranceIsCheap(double step_seconds, double moving_seconds, uint64_t steps);

// By how much the steps of `running` differed from what is foreseen of it, as far as the rounds of
// `cluster` say; nothing: too few do.
std::optional<double> FactorOf(const Candidate& running, const Ranking& ranking,
                               const PlannedCluster& cluster);

// What the job runs from now on: `running`, unless another one gains enough of a step, with more
// copies also kLeastGainSeconds, and pays back what sending data for it costs, twice, within the
// steps that remain. Schemes that no job can run are passed over. Nothing: none serves.
std::optional<Candidate> Choose(const ChoiceRequest& request, const Ranking& ranking,
                                const PlannedCluster& cluster);

// Null: it is not in it, or refused.
const PlannedScheme* Foreseen(const Candidate& candidate, const Ranking& ranking);
// "adaptive, 2 copies", "none"
std::string NameOfChoice(const Candidate& candidate);
// "41 ms", "0.35 ms"
std::string Milliseconds(double seconds);
// Why `chosen`: "predicted 41 ms a step, 23 % less than without copies; insures against worker 3,
// slow in 4 % of its steps". `workers`: whose numbers those of `cluster` are; empty: their own.
std::string WhyChosen(const Candidate& chosen, const Ranking& ranking,
                      const PlannedCluster& cluster, const std::vector<WorkerId>& workers = {});

}  // namespace motley
