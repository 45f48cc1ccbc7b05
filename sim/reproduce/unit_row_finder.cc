// SPDX-License-Identifier: Apache-2.0
#include "sim/reproduce/unit_row_finder.h"

#include <algorithm>

namespace motley {
namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 31) - 1;

uint32_t Inverse(uint32_t value) {  // value^(p - 2), by Fermat.
  uint64_t result = 1;
  uint64_t power = value;
  for (uint64_t exponent = kPrime - 2; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result * power % kPrime;
    power = power * power % kPrime;
  }
  return static_cast<uint32_t>(result);
}

// from -= factor * row.
void Subtract(std::vector<uint32_t>& from, uint32_t factor, const std::vector<uint32_t>& row) {
  const uint64_t minus = kPrime - factor;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == 0) continue;
    from[i] = static_cast<uint32_t>((from[i] + minus * row[i]) % kPrime);
  }
}

}  // namespace

UnitRowFinder::UnitRowFinder(uint32_t partitions)
    : partitions_(partitions), row_of_pivot_(partitions, -1) {}

uint32_t UnitRowFinder::Add(std::span<const uint32_t> partitions) {
  fresh_.assign(partitions_, 0);
  for (const uint32_t partition : partitions) fresh_[partition] = 1;
  for (uint32_t i = 0; i < partitions_; ++i) {
    // Pivots are zero in all other rows, so that one pass clears them.
    if (fresh_[i] != 0 && row_of_pivot_[i] >= 0)
      Subtract(fresh_, fresh_[i], rows_[row_of_pivot_[i]]);
  }
  const auto first = std::find_if(fresh_.begin(), fresh_.end(), [](uint32_t x) { return x != 0; });
  if (first == fresh_.end()) return found_;  // Nothing new.
  const auto pivot = static_cast<uint32_t>(first - fresh_.begin());
  const uint64_t inverse = Inverse(*first);
  for (uint32_t& entry : fresh_) entry = static_cast<uint32_t>(entry * inverse % kPrime);
  for (Row& row : rows_) {
    if (row[pivot] != 0) Subtract(row, row[pivot], fresh_);
  }
  row_of_pivot_[pivot] = static_cast<int32_t>(rows_.size());
  rows_.push_back(fresh_);
  found_ = 0;
  for (const Row& row : rows_) {
    const auto zeros = std::count(row.begin(), row.end(), 0U);
    found_ += zeros + 1 == static_cast<ptrdiff_t>(row.size()) ? 1 : 0;
  }
  return found_;
}

}  // namespace motley
