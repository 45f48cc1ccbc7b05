// SPDX-License-Identifier: Apache-2.0
// Benchmarks of coding, for the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

Result<std::vector<BenchLine>> BenchStreamDecode(const BenchOptions& options);
Result<std::vector<BenchLine>> BenchDecodingVector(const BenchOptions& options);

}  // namespace motley
