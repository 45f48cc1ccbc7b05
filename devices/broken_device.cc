// SPDX-License-Identifier: Apache-2.0
#include "devices/broken_device.h"

#include <utility>

#include "base/assert.h"
#include "devices/device_thread.h"

namespace motley {
namespace {

class BrokenDevice final : public Device {
 public:
  BrokenDevice(Loop& loop, DeviceInfo info, Status why)
      : info_(std::move(info)), why_(std::move(why)), reporter_(loop) {
    MOTLEY_ASSERT(!why_.ok());
  }

  const DeviceInfo& info() const override { return info_; }
  const motley_kernels& kernels() const override { return kernels_; }
  void* queue() const override { return nullptr; }
  bool host_accessible() const override { return false; }
  ParallelFor& parallel() override { return *parallel_; }
  Result<Buffer> Allocate(size_t) override { return why_; }
  Status CopyInAfter(Moment, const Buffer&, size_t, BytesView) override { return why_; }
  Status CopyOutAfter(Moment, const Buffer&, size_t, size_t, const TakePiece&) override {
    return why_;
  }
  void Submit(double, Work, Done done) override { reporter_.Post(std::move(done), why_); }

 private:
  const DeviceInfo info_;
  const Status why_;
  const motley_kernels kernels_{};  // Only work may look at them, and none is done.
  const std::unique_ptr<ParallelFor> parallel_ = MakeSerialParallelFor();
  DoneReporter reporter_;
};

}  // namespace

std::unique_ptr<Device> MakeBrokenDevice(Loop& loop, DeviceInfo info, Status why) {
  return std::make_unique<BrokenDevice>(loop, std::move(info), std::move(why));
}

}  // namespace motley
