// SPDX-License-Identifier: Apache-2.0
// Benchmarks of copies that overlap kernels, and of answers that are sent during computation, for
// the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// No lines if no device with memory of its own can be used.
Result<std::vector<BenchLine>> BenchOverlap(const BenchOptions& options);
Result<std::vector<BenchLine>> BenchAnswers(const BenchOptions& options);

}  // namespace motley
