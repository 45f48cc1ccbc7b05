// SPDX-License-Identifier: Apache-2.0
// What every Device that computes in the host's own memory has in common.
#pragma once

#include <atomic>
#include <memory>

#include "devices/device.h"

namespace motley {

// Bytes of memory this machine has.
uint64_t HostMemoryBytes();

class HostDevice : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  const motley_kernels& kernels() const override { return kernels_; }
  bool host_accessible() const override { return true; }

  Result<Buffer> Allocate(size_t size_bytes) override;
  Status CopyIn(const Buffer& to, size_t offset, BytesView from) override;
  Status CopyOut(const Buffer& from, size_t offset, std::span<std::byte> to) override;

 protected:
  HostDevice(Loop& loop, DeviceInfo info, const motley_kernels& kernels);
  ~HostDevice() override;

  // What `work` returns; an exception that leaves it becomes a Status. Work is gone afterwards.
  static Status Run(Work work);
  // Any thread: `done(status)` runs on the loop thread, unless the device is destroyed before.
  void PostDone(Done done, Status status);
  // From now on no Done runs. First thing in a destructor, on the loop thread.
  void Close() { *closed_ = true; }

 private:
  Loop& loop_;
  DeviceInfo info_;
  const motley_kernels& kernels_;
  std::shared_ptr<std::atomic<bool>> closed_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace motley
