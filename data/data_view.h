// SPDX-License-Identifier: Apache-2.0
// Some of the samples of a source, in another order or scaled, without a copy of them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/data_source.h"

namespace motley {

class DataView final : public DataSource {
 public:
  // The samples `rows` of `base` in that order (all of them, when not given), every feature
  // multiplied by `factor` and rounded to `storage` on its way out. kInvalidArgument of what
  // reads: a feature is too large for it; it is float32 where samples are sparse.
  DataView(std::shared_ptr<const DataSource> base, std::optional<std::vector<uint32_t>> rows,
           float factor, Storage storage = Storage::kFloat32);

  DataShape shape() const override;
  Result<Dataset> Range(size_t begin, size_t end) const override;
  Result<Dataset> Gather(std::span<const uint32_t> rows) const override;
  uint64_t memory_bytes() const override { return base_->memory_bytes(); }

 private:
  Result<Dataset> Finished(Result<Dataset> data) const;

  std::shared_ptr<const DataSource> base_;
  std::optional<std::vector<uint32_t>> rows_;
  float factor_;
  Storage storage_;
};

// How large features get.
struct Magnitudes {
  float largest = 0;           // Of all; 0 without samples.
  uint32_t feature = 0;        // Where that is, from 0.
  uint32_t used = 0;           // Features that are not always 0;
  uint32_t drowned = 0;        // of these so many stay below largest / kDrowns,
  uint32_t first_drowned = 0;  // this one first.
};
inline constexpr float kDrowns = 1e4f;
// Of the samples `rows` of `source` (all of them, when not given), read in blocks in the order in
// which they are stored. kCancelled when it is unwanted.
Result<Magnitudes> MeasureMagnitudes(const DataSource& source,
                                     std::optional<std::span<const uint32_t>> rows,
                                     const Unwanted& unwanted = nullptr);

// Rows of training and of test samples.
struct SplitRows {
  std::vector<uint32_t> train;
  std::vector<uint32_t> test;
};
// Shuffles `rows` numbers by `seed` and cuts: the first `fraction` (in (0, 1)) of them trains.
Result<SplitRows> CutRows(uint64_t rows, double fraction, uint64_t seed);

}  // namespace motley
