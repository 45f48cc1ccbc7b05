// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and compiler: counter-based Philox 4x32-10
// (Salmon et al., SC 2011). A generator is named by (seed, stream), so that two parts of a program
// never share one by accident. Draw once per statement: C++ does not order the calls inside one.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace motley {

// The purpose of a stream. Different purposes give independent numbers.
enum class Stream : uint32_t {
  kShuffle = 1,     // The samples of each batch; the id is the epoch.
  kSplit = 2,       // Train/test split.
  kInitialize = 3,  // Initial parameters.
  kCode = 4,        // Coefficients of random codes.
  kAudit = 5,       // The steps that are checked against a direct sum.
  kSimulation = 6,  // Every decision of a simulated world.
  kTest = 7,
  kIncarnation = 8,
  kDropout = 9,    // The units that are dropped; the ids are step and layer.
  kRounding = 10,  // Values that are rounded for the wire; the ids name a slice.
  kLogSigns = 11,  // Signs with which a node logs answers; the ids are step, attempt and node.
  kSweep = 12,     // Values of a trial; the id is its number.
};

class Random {
 public:
  // `a` and `b` number the streams of one purpose, for example an epoch and a partition.
  Random(uint64_t seed, Stream stream, uint64_t a = 0, uint64_t b = 0);

  uint32_t Next32();
  uint64_t Next64();
  // Uniform in [0, 1), 53 bits.
  double NextDouble();
  // Uniform in [0, bound); bound > 0.
  uint64_t Below(uint64_t bound);
  // True with probability p.
  bool Chance(double p) { return NextDouble() < p; }
  // Standard normal (Box-Muller, one value per call).
  double Normal();
  // Exponential with the given mean.
  double Exponential(double mean);

  // The key and the last word of the counter. Kernels that draw many numbers at once compute the
  // same Philox blocks: block i has the counter {i, 0, 0, last_counter}.
  struct Philox {
    uint32_t key[2];
    uint32_t last_counter;
  };
  Philox philox() const { return {{key_[0], key_[1]}, counter_[3]}; }

  template <typename T>
  void Shuffle(std::span<T> values) {  // Fisher-Yates.
    for (size_t i = values.size(); i > 1; --i) {
      const size_t j = Below(i);
      std::swap(values[i - 1], values[j]);
    }
  }

 private:
  void Refill();
  uint32_t key_[2];
  uint32_t counter_[4];
  uint32_t block_[4];
  int used_ = 4;
};

}  // namespace motley
