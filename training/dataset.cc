// SPDX-License-Identifier: Apache-2.0
#include "training/dataset.h"

#include <algorithm>
#include <cmath>

#include "training/data_view.h"

namespace motley {

float LargestMagnitude(const Dataset& data) {
  float largest = 0;
  for (float value : data.sparse ? data.value : data.dense) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

void ScaleFeatures(Dataset& data, float factor) {
  for (float& value : data.sparse ? data.value : data.dense) value *= factor;
}

size_t Dataset::size_bytes() const {
  return dense.size() * sizeof(float) + row_begin.size() * sizeof(uint64_t) +
         column.size() * sizeof(uint32_t) + value.size() * sizeof(float) +
         label.size() * sizeof(float);
}

Dataset Select(const Dataset& from, std::span<const uint32_t> rows) {
  Dataset to;
  to.features = from.features;
  to.classes = from.classes;
  to.sparse = from.sparse;
  Append(from, rows, to);
  return to;
}

Dataset SelectRange(const Dataset& from, size_t begin, size_t end) {
  MOTLEY_ASSERT(begin <= end && end <= from.rows());
  Dataset to;
  to.features = from.features;
  to.classes = from.classes;
  to.sparse = from.sparse;
  to.label.assign(from.label.data() + begin, from.label.data() + end);
  if (!from.sparse) {
    const float* rows = from.dense.data();
    to.dense.assign(rows + begin * from.features, rows + end * from.features);
    return to;
  }
  const uint64_t first = from.row_begin[begin];
  const uint64_t last = from.row_begin[end];
  to.column.assign(from.column.data() + first, from.column.data() + last);
  to.value.assign(from.value.data() + first, from.value.data() + last);
  to.row_begin.clear();
  for (size_t row = begin; row <= end; ++row) to.row_begin.push_back(from.row_begin[row] - first);
  return to;
}

void Append(const Dataset& from, std::span<const uint32_t> rows, Dataset& to) {
  MOTLEY_ASSERT(from.features == to.features && from.sparse == to.sparse);
  for (const uint32_t row : rows) {
    MOTLEY_ASSERT(row < from.rows());
    to.label.push_back(from.label[row]);
    if (from.sparse) {
      const auto begin = static_cast<ptrdiff_t>(from.row_begin[row]);
      const auto end = static_cast<ptrdiff_t>(from.row_begin[row + 1]);
      to.column.insert(to.column.end(), from.column.begin() + begin, from.column.begin() + end);
      to.value.insert(to.value.end(), from.value.begin() + begin, from.value.begin() + end);
      to.row_begin.push_back(to.column.size());
    } else {
      const auto begin = from.dense.begin() + static_cast<ptrdiff_t>(size_t{row} * from.features);
      to.dense.insert(to.dense.end(), begin, begin + from.features);
    }
  }
}

Dataset Densify(const Dataset& sparse) {
  Dataset to;
  to.features = sparse.features;
  to.classes = sparse.classes;
  to.label = sparse.label;
  if (!sparse.sparse) {
    to.dense = sparse.dense;
    return to;
  }
  to.dense.assign(sparse.rows() * sparse.features, 0.0f);
  for (size_t row = 0; row < sparse.rows(); ++row) {
    for (uint64_t e = sparse.row_begin[row]; e < sparse.row_begin[row + 1]; ++e) {
      to.dense[row * sparse.features + sparse.column[e]] = sparse.value[e];
    }
  }
  return to;
}

Result<Split> SplitDataset(const Dataset& data, double fraction, uint64_t seed) {
  MOTLEY_ASSIGN_OR_RETURN(const SplitRows rows, CutRows(data.rows(), fraction, seed));
  return Split{Select(data, rows.train), Select(data, rows.test)};
}

}  // namespace motley
