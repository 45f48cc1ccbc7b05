// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/holds_together.h"

#include <cmath>

#include "base/assert.h"

namespace motley::fuzz {
namespace {

void ExpectSparseRowsFit(const Dataset& data) {
  MOTLEY_ASSERT(data.row_begin.size() == data.rows() + 1);
  MOTLEY_ASSERT(data.row_begin.front() == 0 && data.row_begin.back() == data.column.size());
  MOTLEY_ASSERT(data.value.size() == data.column.size());
  for (size_t row = 0; row < data.rows(); ++row) {
    MOTLEY_ASSERT(data.row_begin[row] <= data.row_begin[row + 1]);
    for (uint64_t e = data.row_begin[row]; e < data.row_begin[row + 1]; ++e) {
      MOTLEY_ASSERT(data.column[e] < data.features);
      MOTLEY_ASSERT(e == data.row_begin[row] || data.column[e - 1] < data.column[e]);
    }
  }
}

}  // namespace

void ExpectHoldsTogether(const Dataset& data) {
  MOTLEY_ASSERT(data.features > 0);
  if (data.sparse) {
    ExpectSparseRowsFit(data);
  } else {
    const bool wide = data.storage == Storage::kFloat32;
    MOTLEY_ASSERT((wide ? data.dense.size() : data.narrow.size()) == data.rows() * data.features);
    MOTLEY_ASSERT((wide ? data.narrow.size() : data.dense.size()) == 0);
    for (const uint16_t bits : data.narrow) MOTLEY_ASSERT(IsFinite(bits, data.storage));
  }
  for (const float value : data.sparse ? data.value : data.dense) {
    MOTLEY_ASSERT(std::isfinite(value));
  }
  for (const float label : data.label) {
    MOTLEY_ASSERT(std::isfinite(label));
    if (data.classes == 0) continue;
    MOTLEY_ASSERT(label >= 0 && label < static_cast<float>(data.classes));
    MOTLEY_ASSERT(label == std::floor(label));
  }
}

}  // namespace motley::fuzz
