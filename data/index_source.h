// SPDX-License-Identifier: Apache-2.0
// Samples that only the caller of a job knows: there are so many of them, and nothing to send.
#pragma once

#include "data/data_source.h"

namespace motley {

// Shape: `rows` samples of 0 features. Range and Gather give an empty set.
class IndexSource final : public DataSource {
 public:
  explicit IndexSource(uint64_t rows) : rows_(rows) {}

  DataShape shape() const override { return {.rows = rows_}; }
  Result<Dataset> Range(size_t, size_t) const override { return Dataset(); }
  Result<Dataset> Gather(std::span<const uint32_t>) const override { return Dataset(); }

 private:
  uint64_t rows_;
};

// The caller keeps the samples.
inline bool CallerOwned(const DataShape& shape) { return shape.features == 0; }

}  // namespace motley
