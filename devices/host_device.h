// SPDX-License-Identifier: Apache-2.0
// Base of all Devices that compute in the host's own memory.
#pragma once

#include "base/status.h"
#include "devices/device.h"

namespace motley {

// kInvalidArgument unless the range lies inside the buffer.
Status CheckRange(const Buffer& buffer, size_t offset, size_t size_bytes);
// The memory of the machine that `device` is in, where all vectors are stored; 0: not known.
uint64_t HostMemoryOf(const Device& device);

class HostDevice : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  const motley_kernels& kernels() const override { return kernels_; }
  bool host_accessible() const override { return true; }

  Result<Buffer> Allocate(size_t size_bytes) override;
  Status CopyInAfter(Moment after, const Buffer& to, size_t offset, BytesView from) override;
  Status CopyOutAfter(Moment after, const Buffer& from, size_t offset, size_t size_bytes,
                      const TakePiece& take) override;

 protected:
  HostDevice(DeviceInfo info, const motley_kernels& kernels);

 private:
  DeviceInfo info_;
  const motley_kernels& kernels_;
};

}  // namespace motley
