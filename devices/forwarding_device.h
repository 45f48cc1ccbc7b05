// SPDX-License-Identifier: Apache-2.0
// Base of devices that wrap another one: everything but Submit is forwarded.
#pragma once

#include <utility>

#include "devices/device.h"

namespace motley {

// `Base` is Device, or an interface derived from it. `inner` is borrowed.
template <typename Base = Device>
class ForwardingDevice : public Base {
 public:
  explicit ForwardingDevice(Device& inner) : inner_(inner) {}

  const DeviceInfo& info() const override { return inner_.info(); }
  const motley_kernels& kernels() const override { return inner_.kernels(); }
  void* queue() const override { return inner_.queue(); }
  bool host_accessible() const override { return inner_.host_accessible(); }
  Result<Buffer> Allocate(size_t size_bytes) override { return inner_.Allocate(size_bytes); }
  Moment Mark() override { return inner_.Mark(); }
  Status CopyInAfter(Moment after, const Buffer& to, size_t offset, BytesView from) override {
    return inner_.CopyInAfter(after, to, offset, from);
  }
  Status CopyOutAfter(Moment after, const Buffer& from, size_t offset, size_t size_bytes,
                      const TakePiece& take) override {
    return inner_.CopyOutAfter(after, from, offset, size_bytes, take);
  }
  void PostFromWork(Task task) override { inner_.PostFromWork(std::move(task)); }
  ParallelFor& parallel() override { return inner_.parallel(); }
  std::span<Device* const> parts() const override { return inner_.parts(); }
  bool Rest(Duration limit) override { return inner_.Rest(limit); }
  void Abandon() override { inner_.Abandon(); }

 protected:
  Device& inner_;
};

}  // namespace motley
