// SPDX-License-Identifier: Apache-2.0
// A view of another source: some of its samples, reordered or scaled, without a copy.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/data_source.h"

namespace motley {

class DataView final : public DataSource {
 public:
  // A view of the samples `rows` of `base` in that order, or of all samples if `rows` is not given.
  // Reading multiplies every feature by `factor` and rounds it to `storage`, which must be float32
  // for sparse samples. A read returns kInvalidArgument when a feature is too large for `storage`.
  DataView(std::shared_ptr<const DataSource> base, std::optional<std::vector<uint32_t>> rows,
           float factor, Storage storage = Storage::kFloat32);

  DataShape shape() const override;
  Result<Dataset> Range(size_t begin, size_t end) const override;
  Result<Dataset> Gather(std::span<const uint32_t> rows) const override;
  Result<float> LabelOf(size_t row) const override {
    return base_->LabelOf(rows_ ? (*rows_)[row] : row);
  }
  uint64_t memory_bytes() const override { return base_->memory_bytes(); }

 private:
  Result<Dataset> Finished(Result<Dataset> data) const;

  std::shared_ptr<const DataSource> base_;
  std::optional<std::vector<uint32_t>> rows_;
  float factor_;
  Storage storage_;
};

// Statistics of the features' magnitudes.
struct Magnitudes {
  float largest = 0;           // Largest magnitude; 0 without samples.
  uint32_t feature = 0;        // Feature with the largest magnitude, from 0.
  uint32_t used = 0;           // Number of features that are not always 0.
  uint32_t drowned = 0;        // Number of used features that stay below largest / kDrowns.
  uint32_t first_drowned = 0;  // First of the drowned features.
};
inline constexpr float kDrowns = 1e4f;
// Measures the samples `rows` of `source`, or all if `rows` is not given. They are read in blocks,
// in stored order. Returns kCancelled when `unwanted` returns true.
Result<Magnitudes> MeasureMagnitudes(const DataSource& source,
                                     std::optional<std::span<const uint32_t>> rows,
                                     const Unwanted& unwanted = nullptr);

// Row numbers of the training and the test samples.
struct SplitRows {
  std::vector<uint32_t> train;
  std::vector<uint32_t> test;
};
// Shuffles the numbers 0..rows-1 by `seed` and cuts them: the first `fraction` (in (0, 1)) trains.
Result<SplitRows> CutRows(uint64_t rows, double fraction, uint64_t seed);

}  // namespace motley
