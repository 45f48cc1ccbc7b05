// SPDX-License-Identifier: Apache-2.0
// Benchmarks of coding, for the list in bench.cc.
#pragma once

#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// The bytes that decoding must move, per second, beside what plain loops of the same mix of reads
// and writes reach: per float, each slice is read once (4 bytes), each sum that it is added to is
// read and written (8; written only by the first in it). The slice with which it decodes is not
// added any more: it and the sums are read and the result is written (4, for each part).
Result<std::vector<BenchLine>> BenchStreamDecode(const BenchOptions& options);
// Weighted sums as a worker forms them, beside plain axpy loops.
Result<std::vector<BenchLine>> BenchEncode(const BenchOptions& options);
Result<std::vector<BenchLine>> BenchDecodingVector(const BenchOptions& options);
// The process's peak memory while a step is decoded, beside (s + 2) gradients and a slice.
Result<std::vector<BenchLine>> BenchDecodeMemory(const BenchOptions& options);

}  // namespace motley
