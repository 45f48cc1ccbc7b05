// SPDX-License-Identifier: Apache-2.0
// Benchmarks of the planner, for the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// Whole plans (every candidate) of clusters of ten workers and more: plans per second beside the
// ones that would have to be for cost to grow like n log n from the smallest. The events of the
// step model, which are the same on every machine, must not grow faster than that.
Result<std::vector<BenchLine>> BenchPlanner(const BenchOptions& options);

}  // namespace motley
