// SPDX-License-Identifier: Apache-2.0
// A fixed code as step policies see it: which partitions every row has, and which rows are enough.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "coding/code_form.h"
#include "scheduler/step/step_policy.h"

namespace motley {

inline constexpr uint32_t kNoClass = std::numeric_limits<uint32_t>::max();

struct RowCode {
  uint32_t partitions = 0;
  std::vector<std::vector<PartitionId>> rows;  // Row i is worker i's; nobody needs an empty one.
  uint32_t least_rows = 0;                     // Fewer never decode.
  double vector_fraction = 1;                  // Of the gradient's length.
  // Where rows decode as soon as all of a class are there, and not before: by row, its class, or
  // kNoClass; else empty.
  std::vector<uint32_t> class_of;
  std::vector<uint32_t> class_sizes;
  // What the decoder says of these rows, one flag each. More rows never decode less.
  std::function<bool(const std::vector<bool>& present)> decodes;
};

// Rows of a form, by its own decoder, whatever that costs in precision: the norm guard belongs to
// whoever has the numbers.
RowCode RowCodeOf(std::shared_ptr<const CodeForm> form);

// Whether these rows decode.
bool Decodes(const RowCode& code, const std::vector<bool>& present);

// Who has which partition in its row.
std::vector<std::vector<WorkerId>> HoldersOf(const RowCode& code);

// Rows that came so far. Where neither classes nor the number of rows tell that they cannot be
// enough, the decoder is asked only once every partition is on some of them.
class ArrivedRows {
 public:
  explicit ArrivedRows(const RowCode& code);
  void Add(RowId row);
  bool Enough() const;
  const std::vector<bool>& present() const { return present_; }
  uint32_t count() const { return count_; }

 private:
  const RowCode& code_;
  std::vector<bool> present_;
  std::vector<bool> covered_;  // By partition; empty where it need not be known.
  size_t uncovered_ = 0;
  std::vector<uint32_t> left_;  // By class, rows that are missing.
  bool whole_ = false;          // Some class is.
  uint32_t count_ = 0;
};

}  // namespace motley
