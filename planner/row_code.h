// SPDX-License-Identifier: Apache-2.0
// A fixed code as the step model sees it: the partitions of every row, and the sets of rows that
// are enough. Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "coding/code_form.h"

namespace motley {

inline constexpr uint32_t kNoClass = std::numeric_limits<uint32_t>::max();

struct RowCode {
  uint32_t partitions = 0;
  std::vector<std::vector<PartitionId>> rows;  // Empty rows are never needed.
  uint32_t least_rows = 0;                     // Fewer rows never decode.
  double vector_fraction = 1;                  // Part of the gradient's length.
  // Used if rows decode exactly when all rows of a class are there. By row: its class, or kNoClass;
  // otherwise empty.
  std::vector<uint32_t> class_of;
  std::vector<uint32_t> class_sizes;
  // The decoder's verdict on these rows, one flag each. More rows never decode less.
  std::function<bool(const std::vector<bool>& present)> decodes;
};

// Rows of a form, judged by its own decoder at any cost in precision. The norm guard belongs to the
// code that has the numbers.
RowCode RowCodeOf(std::shared_ptr<const CodeForm> form);

// Rows that came so far. If neither classes nor the number of rows rule decoding out, the decoder
// runs only once every partition is on some of them.
class ArrivedRows {
 public:
  explicit ArrivedRows(const RowCode& code);
  void Add(RowId row);
  bool Enough() const;
  const std::vector<bool>& present() const { return present_; }

 private:
  const RowCode& code_;
  std::vector<bool> present_;
  std::vector<bool> covered_;  // By partition; empty if not needed.
  size_t uncovered_ = 0;
  std::vector<uint32_t> left_;  // By class: missing rows.
  bool whole_ = false;          // Some class is complete.
  uint32_t count_ = 0;
};

}  // namespace motley
