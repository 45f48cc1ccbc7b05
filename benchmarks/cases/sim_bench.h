// SPDX-License-Identifier: Apache-2.0
// Benchmarks of sim, for the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// Tasks that the virtual loop executes per second of processor time: in a cluster of real nodes
// with real arithmetic and all checks, and with the loop and the network alone.
Result<std::vector<BenchLine>> BenchSimEvents(const BenchOptions& options);

}  // namespace motley
