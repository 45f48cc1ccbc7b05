// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/data_view.h"
#include "devices/half.h"

namespace motley {

namespace {

// A data set like `of`, without samples.
Dataset Empty(const Dataset& of) {
  return {
      .features = of.features, .classes = of.classes, .sparse = of.sparse, .storage = of.storage};
}

template <typename T>
void AppendRow(const std::vector<T>& from, size_t row, size_t features, std::vector<T>& to) {
  const auto begin = from.begin() + static_cast<ptrdiff_t>(row * features);
  to.insert(to.end(), begin, begin + static_cast<ptrdiff_t>(features));
}

}  // namespace

void RaiseMagnitudes(const Dataset& data, std::span<float> largest) {
  MOTLEY_ASSERT(data.storage == Storage::kFloat32 && largest.size() >= data.features);
  const auto raise = [&](size_t feature, float value) {
    largest[feature] = std::max(largest[feature], std::abs(value));
  };
  for (size_t i = 0; i < data.value.size(); ++i) raise(data.column[i], data.value[i]);
  const float* row = data.dense.data();
  for (size_t r = 0; !data.sparse && r < data.rows(); ++r, row += data.features) {
    for (size_t feature = 0; feature < data.features; ++feature) raise(feature, row[feature]);
  }
}

void ScaleFeatures(Dataset& data, float factor) {
  MOTLEY_ASSERT(data.storage == Storage::kFloat32);
  for (float& value : data.sparse ? data.value : data.dense) value *= factor;
}

size_t Dataset::size_bytes() const {
  return dense.size() * sizeof(float) + narrow.size() * sizeof(uint16_t) +
         row_begin.size() * sizeof(uint64_t) + column.size() * sizeof(uint32_t) +
         value.size() * sizeof(float) + label.size() * sizeof(float);
}

Dataset Select(const Dataset& from, std::span<const uint32_t> rows) {
  Dataset to = Empty(from);
  Append(from, rows, to);
  return to;
}

Dataset SelectRange(const Dataset& from, size_t begin, size_t end) {
  MOTLEY_ASSERT(begin <= end && end <= from.rows());
  Dataset to = Empty(from);
  to.label.assign(from.label.data() + begin, from.label.data() + end);
  if (!from.sparse) {
    const auto slice = [&](const auto& rows) {
      return std::span(rows).subspan(begin * from.features, (end - begin) * from.features);
    };
    if (from.storage == Storage::kFloat32) {
      const auto rows = slice(from.dense);
      to.dense.assign(rows.begin(), rows.end());
    } else {
      const auto rows = slice(from.narrow);
      to.narrow.assign(rows.begin(), rows.end());
    }
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
  MOTLEY_ASSERT(from.features == to.features && from.sparse == to.sparse &&
                from.storage == to.storage);
  for (const uint32_t row : rows) {
    MOTLEY_ASSERT(row < from.rows());
    to.label.push_back(from.label[row]);
    if (from.sparse) {
      const auto begin = static_cast<ptrdiff_t>(from.row_begin[row]);
      const auto end = static_cast<ptrdiff_t>(from.row_begin[row + 1]);
      to.column.insert(to.column.end(), from.column.begin() + begin, from.column.begin() + end);
      to.value.insert(to.value.end(), from.value.begin() + begin, from.value.begin() + end);
      to.row_begin.push_back(to.column.size());
    } else if (from.storage == Storage::kFloat32) {
      AppendRow(from.dense, row, from.features, to.dense);
    } else {
      AppendRow(from.narrow, row, from.features, to.narrow);
    }
  }
}

Status Narrow(Dataset& data, Storage storage) {
  MOTLEY_ASSERT(!data.sparse && data.storage == Storage::kFloat32);
  if (storage == Storage::kFloat32) return Status::Ok();
  const std::vector<float> dense = std::exchange(data.dense, {});
  data.storage = storage;
  data.narrow.reserve(dense.size());
  for (const float value : dense) {
    const uint16_t bits = Rounded(value, storage);
    if (!IsFinite(bits, storage)) {
      return Status::InvalidArgument(
          fmt::format("the feature {} is too large for {}", value, NameOf(storage)));
    }
    data.narrow.push_back(bits);
  }
  return Status::Ok();
}

void Widen(Dataset& data) {
  if (data.storage == Storage::kFloat32) return;
  const bool fp16 = data.storage == Storage::kFp16;
  data.storage = Storage::kFloat32;
  data.dense.reserve(data.narrow.size());
  for (const uint16_t bits : std::exchange(data.narrow, {})) {
    data.dense.push_back(fp16 ? FloatOfFp16(bits) : FloatOfBf16(bits));
  }
}

Dataset Densify(const Dataset& sparse) {
  if (!sparse.sparse) return sparse;
  Dataset to;
  to.features = sparse.features;
  to.classes = sparse.classes;
  to.label = sparse.label;
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
