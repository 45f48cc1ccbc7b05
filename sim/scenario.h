// SPDX-License-Identifier: Apache-2.0
// Random scenarios: a small cluster, its job and its faults follow from a seed. About half of the
// scenarios leave out any given kind of fault completely (swarm testing).
#pragma once

#include <cstdint>
#include <string>

#include "sim/sim_cluster.h"

namespace motley {

struct Scenario {
  SimOptions options;
  Dataset data;
};

// 1 to 12 workers with speeds 1 to 20 times apart, every code with 0 to 3 stragglers, models of a
// few to 500 parameters, 10 to 40 steps. Faults stop at some moment, and the job must then finish.
// With `sync`, the job has this mode (see DrawSync).
Scenario MakeScenario(uint64_t seed, const SyncForm* sync = nullptr);
// Describes the scenario in one line: "7 workers, cyclic tolerate 2, softmax [...]".
std::string DescribeScenario(const Scenario& scenario);

}  // namespace motley
