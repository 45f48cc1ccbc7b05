// SPDX-License-Identifier: Apache-2.0
// Benchmarks of transport, for the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

Result<std::vector<BenchLine>> BenchTcp(const BenchOptions& options);
Result<std::vector<BenchLine>> BenchNearby(const BenchOptions& options);

}  // namespace motley
