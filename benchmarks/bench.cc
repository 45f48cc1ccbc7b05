// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/bench.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "benchmarks/cases/accelerator_bench.h"
#include "benchmarks/cases/coding_bench.h"
#include "benchmarks/cases/erasure_bench.h"
#include "benchmarks/cases/kernels_bench.h"
#include "benchmarks/cases/opencl_bench.h"
#include "benchmarks/cases/overlap_bench.h"
#include "benchmarks/cases/planner_bench.h"
#include "benchmarks/cases/rows_bench.h"
#include "benchmarks/cases/sim_bench.h"
#include "benchmarks/cases/transport_bench.h"
#include "benchmarks/cases/update_bench.h"

namespace motley {

const std::vector<Bench>& Benches() {
  static const std::vector<Bench> benches = {
      {"coding.stream_decode", "s + 1 accumulators over streaming answers", BenchStreamDecode},
      {"coding.encode", "weighted sums of partition gradients", BenchEncode},
      {"coding.decode_memory", "peak memory of a decoded step", BenchDecodeMemory},
      {"coding.decoding_vector", "decoding vector of a code in C-form", BenchDecodingVector},
      {"coding.erasure_encode", "parity blocks of a checkpoint's stripe", BenchErasureEncode},
      {"coding.erasure_decode", "lost blocks of a checkpoint's stripe", BenchErasureDecode},
      {"kernels.gemm", "matrix product of each CPU kernel module", BenchGemm},
#ifdef MOTLEY_HAS_OPENCL
      {"kernels.opencl", "matrix product of each OpenCL device", BenchOpenCl},
#endif
      {"devices.accelerators", "products and copies of each graphics card", BenchAccelerators},
      {"devices.overlap", "gradients, copies beside kernels", BenchOverlap},
      {"training.answers", "rows, sent beside computing", BenchAnswers},
      {"planner.growth", "plans of clusters of more and more workers", BenchPlanner},
      {"training.rows", "rows of several coefficients, gradients", BenchRows},
      {"training.updates", "a vector's update in one pass over memory", BenchUpdates},
      {"transport.tcp", "messages over loopback TCP", BenchTcp},
      {"transport.nearby", "messages by shared memory", BenchNearby},
      {"sim.events", "simulated clusters, tasks per second", BenchSimEvents},
  };
  return benches;
}

double SecondsOf(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double ProcessorSecondsOf(const std::function<void()>& call) {
  const std::clock_t begin = std::clock();
  call();
  return static_cast<double>(std::max<std::clock_t>(std::clock() - begin, 1)) / CLOCKS_PER_SEC;
}

double MedianSeconds(const BenchOptions& options, const std::function<void()>& call) {
  constexpr size_t kLeastCalls = 5;
  const double least_seconds = options.full ? 0.5 : 0.01;
  call();
  std::vector<double> seconds;
  for (double total = 0; seconds.size() < kLeastCalls || total < least_seconds;) {
    seconds.push_back(SecondsOf(call));
    total += seconds.back();
  }
  const auto middle = seconds.begin() + static_cast<ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace motley
