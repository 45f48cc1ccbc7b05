// SPDX-License-Identifier: Apache-2.0
// Benchmarks of the OpenCL driver, for the list in bench.cc; only in builds that have it.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// No lines if no OpenCL device can be used.
Result<std::vector<BenchLine>> BenchOpenCl(const BenchOptions& options);

}  // namespace motley
