// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's operations on a queue with blocks that run on the host.
#pragma once

#include <limits>
#include <vector>

#include "devices/cuda/kernels/launch.cuh"
#include "devices/cuda/operations.h"
#include "tests/conformance/kernel_rig.h"
#include "tests/devices/cuda/column_major.h"

namespace motley::conformance {

class EmulatedRig final : public KernelRig {
 public:
  EmulatedRig(cuda::ThreadOrder order, unsigned most_blocks, size_t offset = 8)
      : host_(cuda::Operations(), &queue_, offset), blocks_{order, nullptr} {
    queue_.stream = &blocks_;
    queue_.partials = partials_.data();
    queue_.slices = slices_.data();
    queue_.slice_room = slices_.size();
    queue_.most_blocks = most_blocks;
    queue_.multiply = [](motley_driver_queue&, const cuda::ColumnMajorProduct& product) {
      MultiplyColumnMajor(product);
    };
  }
  const motley_kernels& table() const override { return host_.table(); }
  void* queue() const override { return host_.queue(); }
  void* Store(const void* bytes, size_t size_bytes) override {
    return host_.Store(bytes, size_bytes);
  }
  void Load(const void* stored, void* bytes, size_t size_bytes) const override {
    host_.Load(stored, bytes, size_bytes);
  }
  cuda::Failure& failure() { return queue_.failure; }

 private:
  motley_driver_queue queue_;
  HostRig host_;
  cuda::HostBlocks blocks_;
  std::vector<double> partials_ =
      std::vector<double>(cuda::kPartials, std::numeric_limits<double>::quiet_NaN());
  // Less than on a device, so that deep products reuse it.
  std::vector<float> slices_ = std::vector<float>(400, std::numeric_limits<float>::quiet_NaN());
};

}  // namespace motley::conformance
