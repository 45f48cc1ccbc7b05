// SPDX-License-Identifier: Apache-2.0
// A benchmark measures something and a comparable baseline in the same run, after checking that the
// result is right. On another machine only the ratio of the two is meaningful.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace motley {

struct BenchOptions {
  bool full = false;  // Realistic sizes; otherwise small ones that take a moment.
  uint32_t threads = 1;
};

struct BenchLine {
  std::string what;  // Variant: "avx2 n=1024".
  std::string unit;  // "GB/s"; more is better.
  double value = 0;
  std::string baseline;       // The baseline's name.
  double baseline_value = 0;  // In the same unit.

  double ratio() const { return baseline_value > 0 ? value / baseline_value : 0; }
};

struct Bench {
  const char* name;  // For example "coding.stream_decode".
  const char* summary;
  // kInternal: the measured result is wrong.
  Result<std::vector<BenchLine>> (*run)(const BenchOptions& options);
};

// All benchmarks, by module.
const std::vector<Bench>& Benches();

// Median seconds of a call. One call warms up; at least five are measured, and with `full` half a
// second of them.
double MedianSeconds(const BenchOptions& options, const std::function<void()>& call);
// Seconds of one call.
double SecondsOf(const std::function<void()>& call);
// Processor seconds of one single-threaded call, which other load on the machine affects less.
double ProcessorSecondsOf(const std::function<void()>& call);

}  // namespace motley
