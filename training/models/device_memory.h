// SPDX-License-Identifier: Apache-2.0
// Device memory of a model: samples, and workspace for what it computes. Used on the device's
// thread.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "base/status.h"
#include "data/dataset.h"
#include "devices/device.h"

namespace motley {

// Samples in the form that kernels take: dense [rows, features], or sparse if `dense` is null.
struct DeviceBatch {
  size_t rows = 0;
  const float* dense = nullptr;
  motley_csr sparse{};
  size_t entries = 0;  // Number of entries of `sparse`.
  const float* label = nullptr;
  const float* class_weight = nullptr;  // Training only: weight of each class; null: 1.
  // Training with dropout only: the numbers of the rows' samples in the data set, and the other
  // values that the masks depend on. Null: nothing is dropped.
  const uint32_t* sample = nullptr;
  uint64_t seed = 0;
  uint64_t step = 0;

  // At most `count` rows from `begin` on; for dense samples only.
  DeviceBatch Rows(size_t begin, size_t count, size_t features) const;
};

// Numbered buffers in a device's memory, kept from call to call. Each grows to the largest size
// that was asked for, and then loses its content. A Buffer stays valid as long as this object.
class DeviceMemory {
 public:
  explicit DeviceMemory(Device& device) : device_(device) {}

  Device& device() const { return device_; }
  // kResource: the device is out of memory.
  Result<Buffer*> Piece(size_t number, size_t size_bytes);
  Result<float*> Floats(size_t number, size_t count);
  // How often a buffer grew.
  size_t grown() const { return grown_; }

 private:
  Device& device_;
  size_t grown_ = 0;
  std::deque<Buffer> pieces_;  // A deque, so that buffers stay in place when more are added.
};

// Puts batches where kernels can read them. A device that shares the host's memory reads them in
// place, and a batch is valid as long as its Dataset. On other devices it is valid until the next
// Place.
class BatchMemory {
 public:
  explicit BatchMemory(Device& device) : memory_(device) {}
  Result<DeviceBatch> Place(const Dataset& samples);
  // Numbers of the batch's samples; valid as long as the batch.
  Result<const uint32_t*> PlaceNumbers(const std::vector<uint32_t>& numbers);
  // Marks that all kernels on the current batch were called. The next Place waits for these kernels
  // only.
  void Used() { used_ = memory_.device().Mark(); }

 private:
  template <typename T>
  Result<const T*> Copy(size_t number, const std::vector<T>& values);
  // The samples as float32, in device memory in any case.
  Result<const float*> Widened(const Dataset& samples);

  DeviceMemory memory_;
  Moment used_ = kNow;
};

}  // namespace motley
