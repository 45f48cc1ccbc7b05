// SPDX-License-Identifier: Apache-2.0
// Memory bandwidth of plain loops on this machine, as a baseline in the same run.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "benchmarks/bench.h"

namespace motley {

// The lower quartile: a time with little disturbance that occurred more than once. `values` is not
// empty.
double Quartile(std::vector<double> values);

// Passes over `length` floats. A mixed pass reads one stream, and reads and writes `sums` others,
// and one of half the length if `half_more`. The compiler vectorises the loops for this processor,
// without prefetching and with two kinds of it; the fastest counts. Two other passes only write the
// sums, or read everything and write `results`: the first in place of the first sum, others
// elsewhere.
class MixedLoops {
 public:
  struct Shape {
    size_t length;
    size_t sums = 1;
    bool half_more = false;
    size_t results = 1;
  };
  struct Passes {
    size_t adding = 1;
    size_t writing = 0;
    size_t closing = 0;
  };

  MixedLoops(const Shape& shape, size_t threads);
  ~MixedLoops();
  MixedLoops(const MixedLoops&) = delete;
  MixedLoops& operator=(const MixedLoops&) = delete;

  // Runs one of the loops, in turn. So each finds as little of its memory in a cache as the others
  // and as the code that runs between them.
  void Run();
  // Bytes that such passes move, and their speed, from the lower quartiles so far. Each kind must
  // have run at least once.
  double BytesOf(const Passes& passes) const;
  double BytesPerSecond(const Passes& passes) const;

 private:
  struct Arrays;
  std::unique_ptr<Arrays> arrays_;
  const double stream_;   // Bytes that are read.
  const double sums_;     // Bytes of the sums that they are added to.
  const double results_;  // Bytes of the final results.
  size_t turn_ = 0;
  // Times of adding without prefetching, by blocks and by lines; of writing; of closing.
  std::array<std::vector<double>, 5> seconds_;
};

}  // namespace motley
