// SPDX-License-Identifier: Apache-2.0
// Samples in memory: dense rows or compressed sparse rows, one label each. Immutable once filled;
// any thread may read.
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
  Storage storage = Storage::kFloat32;  // Of dense features.

  std::vector<float> dense;      // rows x features, row-major, when not sparse.
  std::vector<uint16_t> narrow;  // In its place when they have 16 bits.
  // When sparse: row r has entries [row_begin[r], row_begin[r+1]), columns ascending.
  std::vector<uint64_t> row_begin{0};
  std::vector<uint32_t> column;
  std::vector<float> value;

  std::vector<float> label;

  size_t rows() const { return label.size(); }
  size_t size_bytes() const;  // Of the arrays.
};

// The samples `rows` of `from`, in that order (also how a batch is gathered).
Dataset Select(const Dataset& from, std::span<const uint32_t> rows);
// The samples [begin, end) of `from`.
Dataset SelectRange(const Dataset& from, size_t begin, size_t end);
// Appends the samples `rows` of `from` to `to`, which has the same features and kind.
void Append(const Dataset& from, std::span<const uint32_t> rows, Dataset& to);
// Rounds dense features to `storage`. kInvalidArgument: one is too large for it; they are then
// lost.
Status Narrow(Dataset& data, Storage storage);
// Back to float32, exactly.
void Widen(Dataset& data);
// The same samples, with the zeros between the values of sparse ones.
Dataset Densify(const Dataset& sparse);

// Raises each feature's number in `largest` to its largest magnitude in `data`. This and
// ScaleFeatures: of float32 ones.
void RaiseMagnitudes(const Dataset& data, std::span<float> largest);
// Multiplies every feature (not the labels) by `factor`.
void ScaleFeatures(Dataset& data, float factor);

// A block of samples as one message, and back. The reader checks every count, index and value
// (kDataError); a block of another shape than `features`/`classes`/`sparse` is one too.
Bytes EncodeBlock(const Dataset& data, size_t begin, size_t end);
// Bytes of a block of `rows` samples that have `entries` values (sparse) or `features` each.
uint64_t BlockBytes(uint64_t rows, uint32_t features, bool sparse, uint64_t entries,
                    Storage storage = Storage::kFloat32);
Result<Dataset> DecodeBlock(BytesView bytes, uint32_t features, uint32_t classes, bool sparse);

// Shuffles by `seed` and cuts: the first `fraction` (in (0, 1)) of the samples trains.
struct Split {
  Dataset train;
  Dataset test;
};
Result<Split> SplitDataset(const Dataset& data, double fraction, uint64_t seed);

}  // namespace motley
