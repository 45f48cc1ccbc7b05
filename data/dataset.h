// SPDX-License-Identifier: Apache-2.0
// Samples in memory: dense rows or compressed sparse rows (CSR), one label each. Immutable once
// filled; any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "data/storage.h"

namespace motley {

struct Dataset {
  uint32_t features = 0;
  uint32_t classes = 0;  // Labels are 0..classes-1; 0 classes: labels are real numbers.
  bool sparse = false;
  Storage storage = Storage::kFloat32;  // Storage of dense features.

  std::vector<float> dense;      // Dense float32 features: rows x features, row-major.
  std::vector<uint16_t> narrow;  // Dense features of 16 bits, in place of `dense`.
  // Sparse samples: row r has the entries [row_begin[r], row_begin[r+1]), with ascending columns.
  std::vector<uint64_t> row_begin{0};
  std::vector<uint32_t> column;
  std::vector<float> value;

  std::vector<float> label;

  size_t rows() const { return label.size(); }
  size_t size_bytes() const;  // Bytes of the arrays.
};

// The samples `rows` of `from`, in that order. Batches are gathered this way, too.
Dataset Select(const Dataset& from, std::span<const uint32_t> rows);
// The samples [begin, end) of `from`.
Dataset SelectRange(const Dataset& from, size_t begin, size_t end);
// Appends the samples `rows` of `from` to `to`, which has the same features and kind.
void Append(const Dataset& from, std::span<const uint32_t> rows, Dataset& to);
// Rounds dense features to `storage`. kInvalidArgument: a feature is too large for it; `data` is
// then unusable.
Status Narrow(Dataset& data, Storage storage);
// Converts features back to float32, exactly.
void Widen(Dataset& data);
// The samples of `sparse` as dense rows.
Dataset Densify(const Dataset& sparse);

// Raises `largest`, which has one entry per feature, to each feature's largest magnitude in `data`.
// Features must be float32, as for ScaleFeatures.
void RaiseMagnitudes(const Dataset& data, std::span<float> largest);
// Multiplies every feature by `factor`; labels stay as they are.
void ScaleFeatures(Dataset& data, float factor);

// Encodes a block of samples as one message. The decoder checks every count, index and value. It
// returns kDataError for invalid ones and for a block whose shape is not
// `features`/`classes`/`sparse`.
Bytes EncodeBlock(const Dataset& data, size_t begin, size_t end);
// Size in bytes of an encoded block of `rows` samples. Sparse samples have `entries` values in all,
// dense ones `features` each.
uint64_t BlockBytes(uint64_t rows, uint32_t features, bool sparse, uint64_t entries,
                    Storage storage = Storage::kFloat32);
Result<Dataset> DecodeBlock(BytesView bytes, uint32_t features, uint32_t classes, bool sparse);

// Shuffles the samples by `seed` and cuts them: the first `fraction` (in (0, 1)) trains.
struct Split {
  Dataset train;
  Dataset test;
};
Result<Split> SplitDataset(const Dataset& data, double fraction, uint64_t seed);

}  // namespace motley
