// SPDX-License-Identifier: Apache-2.0
// What this machine's memory gives plain loops, for comparison in the same run.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// The lower quartile: what is seldom disturbed, and not just once. Not empty.
double Quartile(std::vector<double> values);

// One pass over `length` floats: reads one stream; reads and writes `sums` others, and one of half
// the length if `half_more`. Loops the compiler vectorises for this processor, without prefetching
// and with two ways of it; whichever is fastest counts.
class MixedLoops {
 public:
  MixedLoops(size_t length, size_t sums, bool half_more, size_t threads);
  ~MixedLoops();
  MixedLoops(const MixedLoops&) = delete;
  MixedLoops& operator=(const MixedLoops&) = delete;

  // Runs all loops once more.
  void Run();
  // Of the lower quartile of the passes so far.
  double bytes_per_second() const;

 private:
  struct Arrays;
  std::unique_ptr<Arrays> arrays_;
  double bytes_;
  std::array<std::vector<double>, 3> seconds_;  // Without prefetching, by blocks, by lines.
};

}  // namespace motley
