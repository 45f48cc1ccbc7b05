// SPDX-License-Identifier: Apache-2.0
// The benchmark of graphics cards and other devices with memory of their own, for the list in
// bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// Matrix products in TFLOP/s and copies in GB/s. There is no line where no such device can be used.
Result<std::vector<BenchLine>> BenchAccelerators(const BenchOptions& options);

}  // namespace motley
