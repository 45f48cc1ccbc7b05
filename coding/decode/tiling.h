// SPDX-License-Identifier: Apache-2.0
// Finds answers with coefficients 1 and disjoint supports that together cover all partitions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coding/code_form.h"

namespace motley {

// The distinct supports (sets of partitions) of a form's rows, in order of their first partition.
class Tiling {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  enum class Cost : uint8_t { kFree, kExtra, kImpossible };

  explicit Tiling(const CodeForm& form);

  uint32_t supports() const { return static_cast<uint32_t>(rows_.size()); }
  // kNone for an empty row.
  uint32_t SupportOf(RowId row) const { return support_of_[row]; }
  // The rows with this support, ascending.
  std::span<const RowId> RowsOf(uint32_t support) const { return rows_[support]; }
  // True if no partition is in two supports: the only cover is then all of them.
  bool disjoint() const { return disjoint_; }

  // Ascending supports that cover every partition exactly once, with the fewest kExtra ones; the
  // first such choice in order. Empty when there is none, or when the search among overlapping
  // supports gave up after 100,000 steps. `costs` has one entry per support.
  std::vector<uint32_t> Cover(std::span<const Cost> costs) const;

 private:
  struct Search;

  uint32_t partitions_;
  bool disjoint_ = true;
  std::vector<uint32_t> support_of_;
  std::vector<std::vector<RowId>> rows_;
  std::vector<std::vector<PartitionId>> members_;
  std::vector<uint32_t> first_from_;  // Supports that begin with partition p are [p] to [p + 1].
};

}  // namespace motley
