// SPDX-License-Identifier: Apache-2.0
// Benchmarks of coding, for the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// Bytes per second that decoding must move, compared with plain loops of the same mix of reads and
// writes. Per float, each slice is read once (4 bytes), and each sum that it is added to is read
// and written (8; the first slice in a sum only writes it). The slice that completes decoding is
// not added: it and the sums are read, and the result is written (4 for each part).
Result<std::vector<BenchLine>> BenchStreamDecode(const BenchOptions& options);
// Weighted sums of a worker, compared with plain axpy loops.
Result<std::vector<BenchLine>> BenchEncode(const BenchOptions& options);
Result<std::vector<BenchLine>> BenchDecodingVector(const BenchOptions& options);
// Peak memory of the process while a step is decoded, compared with (s + 2) gradients and a slice.
Result<std::vector<BenchLine>> BenchDecodeMemory(const BenchOptions& options);

}  // namespace motley
