// SPDX-License-Identifier: Apache-2.0
// A benchmark measures something and a baseline of the same kind in the same run, after checking
// that the result is right: only the ratio of the two means something on another machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace motley {

struct BenchOptions {
  bool full = false;  // Sizes that say something; otherwise small ones that only take a moment.
  uint32_t threads = 1;
};

struct BenchLine {
  std::string what;  // Variant: "avx2 n=1024".
  std::string unit;  // "GB/s"; more is better.
  double value = 0;
  std::string baseline;       // What it is compared with.
  double baseline_value = 0;  // In the same unit.

  double ratio() const { return baseline_value > 0 ? value / baseline_value : 0; }
};

struct Bench {
  const char* name;  // "coding.stream_decode"
  const char* summary;
  // kInternal when the result that it measured is wrong.
  Result<std::vector<BenchLine>> (*run)(const BenchOptions& options);
};

// Every benchmark, by module.
const std::vector<Bench>& Benches();

// Median seconds of one call, over at least five calls (after one to warm up) and, with `full`,
// half a second.
double MedianSeconds(const BenchOptions& options, const std::function<void()>& call);
// Seconds of one call.
double SecondsOf(const std::function<void()>& call);
// The same of the processor, for what runs on one thread: others may use the machine.
double ProcessorSecondsOf(const std::function<void()>& call);

}  // namespace motley
