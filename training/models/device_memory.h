// SPDX-License-Identifier: Apache-2.0
// What a model needs in the memory of the device that it runs on: samples, and room for what it
// computes. On the device's thread.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "base/status.h"
#include "data/dataset.h"
#include "devices/device.h"

namespace motley {

// Samples as kernels take them: dense [rows, features], or sparse when `dense` is null.
struct DeviceBatch {
  size_t rows = 0;
  const float* dense = nullptr;
  motley_csr sparse{};
  size_t entries = 0;  // Of `sparse`.
  const float* label = nullptr;
  const float* class_weight = nullptr;  // In training, of each class; null: 1.
  // In training with dropout; null: nothing is dropped. Numbers of the rows' samples in the data
  // set, with what else the masks follow from.
  const uint32_t* sample = nullptr;
  uint64_t seed = 0;
  uint64_t step = 0;

  // Some of its rows, at most `count` of them; only of dense samples.
  DeviceBatch Rows(size_t begin, size_t count, size_t features) const;
};

// Numbered pieces of a device's memory, kept from call to call. Each grows to the most that was
// asked of it; what was in it is then lost. A Buffer stays valid as long as this does.
class DeviceMemory {
 public:
  explicit DeviceMemory(Device& device) : device_(device) {}

  Device& device() const { return device_; }
  // kResource when the device has not so much.
  Result<Buffer*> Piece(size_t number, size_t size_bytes);
  Result<float*> Floats(size_t number, size_t count);
  // How often a piece grew.
  size_t grown() const { return grown_; }

 private:
  Device& device_;
  size_t grown_ = 0;
  std::deque<Buffer> pieces_;  // Stay where they are when there are more.
};

// Puts batches where kernels can read them. Where the device shares the host's memory that is where
// they are: a batch is then valid as long as its Dataset is, elsewhere until the next Place.
class BatchMemory {
 public:
  explicit BatchMemory(Device& device) : memory_(device) {}
  Result<DeviceBatch> Place(const Dataset& samples);
  // Of the samples in the batch, as long as it is valid.
  Result<const uint32_t*> PlaceNumbers(const std::vector<uint32_t>& numbers);
  // All kernels that use the batch were called: the next one waits for them alone.
  void Used() { used_ = memory_.device().Mark(); }

 private:
  template <typename T>
  Result<const T*> Copy(size_t number, const std::vector<T>& values);
  // As float32, which takes room of the device whether or not it shares the host's memory.
  Result<const float*> Widened(const Dataset& samples);

  DeviceMemory memory_;
  Moment used_ = kNow;
};

}  // namespace motley
