// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "benchmarks/bench.h"

namespace motley {

// Rows of a code with several coefficients, compared with the plain sum of the same samples.
Result<std::vector<BenchLine>> BenchRows(const BenchOptions& options);

}  // namespace motley
