// SPDX-License-Identifier: Apache-2.0
// Benchmarks of kernels, for the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

Result<std::vector<BenchLine>> BenchGemm(const BenchOptions& options);

}  // namespace motley
