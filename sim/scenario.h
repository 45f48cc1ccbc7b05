// SPDX-License-Identifier: Apache-2.0
// Scenarios of a swarm: everything about a small cluster, its job and its faults follows from a
// seed. Each kind of fault is switched off completely in about half of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/sim_cluster.h"

namespace motley {

struct Scenario {
  SimOptions options;
  Dataset data;
};

// 1 to 12 workers with speeds 1 to 20 times apart, every code with 0 to 3 stragglers, models of a
// few to 500 parameters, 10 to 40 steps. Faults stop at a moment; the job must finish after it.
Scenario MakeScenario(uint64_t seed);
// "7 workers, cyclic tolerate 2, softmax [...]": what there is, in one line.
std::string DescribeScenario(const Scenario& scenario);

// What a scenario came to, run twice.
struct SeedReport {
  uint64_t seed = 0;
  uint64_t digest = 0;
  uint64_t tasks_run = 0;
  double virtual_seconds = 0;
  std::vector<std::string> violations;  // Broken invariants; empty when all is well.
  std::map<std::string, uint64_t> reached;
};

// Runs the scenario of `seed` twice and compares the digests.
SeedReport RunSeed(uint64_t seed);

}  // namespace motley
