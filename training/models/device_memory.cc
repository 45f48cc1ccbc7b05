// SPDX-License-Identifier: Apache-2.0
#include "training/models/device_memory.h"

#include <algorithm>
#include <span>

#include "base/assert.h"

namespace motley {

DeviceBatch DeviceBatch::Rows(size_t begin, size_t count, size_t features) const {
  if (begin == 0 && count >= rows) return *this;
  MOTLEY_ASSERT(dense != nullptr && begin <= rows);
  return {.rows = std::min(count, rows - begin),
          .dense = dense + begin * features,
          .label = label + begin,
          .class_weight = class_weight,
          .sample = sample != nullptr ? sample + begin : nullptr,
          .seed = seed,
          .step = step};
}

Result<Buffer*> DeviceMemory::Piece(size_t number, size_t size_bytes) {
  if (pieces_.size() <= number) pieces_.resize(number + 1);
  Buffer& piece = pieces_[number];
  if (piece.data() == nullptr || piece.size_bytes() < size_bytes) {
    piece = Buffer();  // Frees the old buffer first, so that both need not fit.
    MOTLEY_ASSIGN_OR_RETURN(piece, device_.Allocate(size_bytes));
    ++grown_;
  }
  return &piece;
}

Result<float*> DeviceMemory::Floats(size_t number, size_t count) {
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const piece, Piece(number, count * sizeof(float)));
  return piece->floats();
}

template <typename T>
Result<const T*> BatchMemory::Copy(size_t number, const std::vector<T>& values) {
  Device& device = memory_.device();
  if (device.host_accessible()) return values.data();
  const size_t grown = memory_.grown();
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const piece, memory_.Piece(number, values.size() * sizeof(T)));
  // New memory may have been freed just now by a kernel that is still running.
  const Moment after = memory_.grown() == grown ? used_ : kNow;
  MOTLEY_RETURN_IF_ERROR(device.CopyInAfter(after, *piece, 0, std::as_bytes(std::span(values))));
  return static_cast<const T*>(piece->data());
}

Result<const float*> BatchMemory::Widened(const Dataset& samples) {
  const size_t count = samples.narrow.size();
  MOTLEY_ASSIGN_OR_RETURN(const uint16_t* const narrow, Copy(5, samples.narrow));
  MOTLEY_ASSIGN_OR_RETURN(float* const wide, memory_.Floats(1, count));
  Device& device = memory_.device();
  device.kernels().widen(device.queue(), count, static_cast<int>(samples.storage), narrow, wide);
  return static_cast<const float*>(wide);
}

Result<const uint32_t*> BatchMemory::PlaceNumbers(const std::vector<uint32_t>& numbers) {
  return Copy(6, numbers);
}

Result<DeviceBatch> BatchMemory::Place(const Dataset& samples) {
  DeviceBatch batch{.rows = samples.rows()};
  MOTLEY_ASSIGN_OR_RETURN(batch.label, Copy(0, samples.label));
  if (!samples.sparse) {
    MOTLEY_ASSIGN_OR_RETURN(batch.dense, samples.storage == Storage::kFloat32
                                             ? Copy(1, samples.dense)
                                             : Widened(samples));
    return batch;
  }
  batch.entries = samples.value.size();
  batch.sparse = {.rows = samples.rows(), .columns = samples.features};
  MOTLEY_ASSIGN_OR_RETURN(batch.sparse.row_begin, Copy(2, samples.row_begin));
  MOTLEY_ASSIGN_OR_RETURN(batch.sparse.column, Copy(3, samples.column));
  MOTLEY_ASSIGN_OR_RETURN(batch.sparse.value, Copy(4, samples.value));
  return batch;
}

}  // namespace motley
