// SPDX-License-Identifier: Apache-2.0
// Benchmarks of sim, for the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

Result<std::vector<BenchLine>> BenchSimEvents(const BenchOptions& options);

}  // namespace motley
