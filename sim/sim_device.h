// SPDX-License-Identifier: Apache-2.0
// A simulated device: does the real arithmetic at once and reports it after the time that its
// profile models, with noise from the seed and slow phases.
#pragma once

#include <memory>

#include "base/random.h"
#include "devices/paced_device.h"
#include "profiles/profile.h"

namespace motley {

class SimDevice final : public Device {
 public:
  // `loop` is borrowed. kNotFound when the kernels cannot be loaded.
  static Result<std::unique_ptr<SimDevice>> Create(Loop& loop, const DeviceProfile& profile,
                                                   Random random);

  // Work submitted from now on takes this many times as long. >= some small positive number.
  void SetSlowness(double factor) { slowness_ = factor; }
  // A fresh draw, to compare two runs.
  uint64_t LastDraw() { return random_.Next64(); }

  const DeviceInfo& info() const override { return paced_->info(); }
  const motley_kernels& kernels() const override { return paced_->kernels(); }
  void* queue() const override { return paced_->queue(); }
  bool host_accessible() const override { return paced_->host_accessible(); }
  Result<Buffer> Allocate(size_t size_bytes) override { return paced_->Allocate(size_bytes); }
  Status CopyIn(const Buffer& to, size_t offset, BytesView from) override {
    return paced_->CopyIn(to, offset, from);
  }
  Status CopyOut(const Buffer& from, size_t offset, std::span<std::byte> to) override {
    return paced_->CopyOut(from, offset, to);
  }
  void Submit(double units, Work work, Done done) override;
  ParallelFor& parallel() override { return paced_->parallel(); }

 private:
  SimDevice(const DeviceProfile& profile, Random random) : profile_(profile), random_(random) {}
  double Vary();

  const DeviceProfile profile_;
  Random random_;
  double slowness_ = 1;
  std::unique_ptr<Device> inner_;
  std::unique_ptr<PacedDevice> paced_;
};

}  // namespace motley
