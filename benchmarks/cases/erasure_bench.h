// SPDX-License-Identifier: Apache-2.0
// Benchmarks of the erasure code of checkpoints, for the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// Bytes of data per second, compared with the loops in the libraries' own manuals.
Result<std::vector<BenchLine>> BenchErasureEncode(const BenchOptions& options);
Result<std::vector<BenchLine>> BenchErasureDecode(const BenchOptions& options);

}  // namespace motley
