// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "benchmarks/bench.h"

namespace motley {

// Updates of a vector block by block, beside a pass over the whole vector for each kind of work:
// copy, mean, rule and check.
Result<std::vector<BenchLine>> BenchUpdates(const BenchOptions& options);

}  // namespace motley
