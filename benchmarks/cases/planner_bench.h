// SPDX-License-Identifier: Apache-2.0
// Benchmarks of the planner, for the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// Complete plans (every candidate) of clusters of ten workers and more. The baseline is the number
// of plans per second at which cost would grow like n log n from the smallest cluster. The step
// model's events, which are the same on every machine, must not grow faster.
Result<std::vector<BenchLine>> BenchPlanner(const BenchOptions& options);

}  // namespace motley
