// SPDX-License-Identifier: Apache-2.0
// Samples that only the caller of a job has: their number is known, and nothing is sent.
#pragma once

#include "data/data_source.h"

namespace motley {

// A source with `rows` samples of 0 features. Range and Gather return an empty set.
class IndexSource final : public DataSource {
 public:
  explicit IndexSource(uint64_t rows) : rows_(rows) {}

  DataShape shape() const override { return {.rows = rows_}; }
  Result<Dataset> Range(size_t, size_t) const override { return Dataset(); }
  Result<Dataset> Gather(std::span<const uint32_t>) const override { return Dataset(); }

 private:
  uint64_t rows_;
};

// Tells whether the caller keeps the samples.
inline bool CallerOwned(const DataShape& shape) { return shape.features == 0; }

}  // namespace motley
