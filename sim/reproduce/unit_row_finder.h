// SPDX-License-Identifier: Apache-2.0
// Which partitions can be solved for from sums of partitions: Gaussian elimination, exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace motley {

// Keeps what was heard in reduced row echelon form modulo the prime 2^31 - 1. A partition is found
// when its unit row is in the span of what was heard; over the integers the answer is the same
// save for determinants that are multiples of the prime.
class UnitRowFinder {
 public:
  explicit UnitRowFinder(uint32_t partitions);

  // Hears the sum of the partitions named, all different; how many partitions are found by now.
  uint32_t Add(std::span<const uint32_t> partitions);
  uint32_t found() const { return found_; }

 private:
  using Row = std::vector<uint32_t>;  // One residue per partition.

  uint32_t partitions_;
  uint32_t found_ = 0;
  std::vector<Row> rows_;
  std::vector<int32_t> row_of_pivot_;  // -1: none.
  Row fresh_;
};

}  // namespace motley
