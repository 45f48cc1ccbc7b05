// SPDX-License-Identifier: Apache-2.0
// Benchmarks of copies that run beside kernels, and of answers that are sent beside them, for the
// list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

Result<std::vector<BenchLine>> BenchOverlap(const BenchOptions& options);

}  // namespace motley
