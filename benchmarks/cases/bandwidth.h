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
// and with two ways of it; whichever is fastest counts. And one pass that only writes the sums, and
// one that reads everything and writes `results`: one where the first sum stands, more elsewhere.
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

  // Runs one of the loops, in turn: each of them, and what runs between them, then finds as little
  // of its memory in a cache as the others do.
  void Run();
  // What such passes move, and how fast, from the lower quartiles of those so far: at least one of
  // each kind.
  double BytesOf(const Passes& passes) const;
  double BytesPerSecond(const Passes& passes) const;

 private:
  struct Arrays;
  std::unique_ptr<Arrays> arrays_;
  const double stream_;   // Bytes of what is read.
  const double sums_;     // Bytes of what it is added to.
  const double results_;  // Bytes of what all of it gives.
  size_t turn_ = 0;
  // Adding without prefetching, by blocks and by lines; writing; closing.
  std::array<std::vector<double>, 5> seconds_;
};

}  // namespace motley
