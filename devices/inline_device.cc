// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "devices/cpu/cpu_device.h"
#include "devices/device_thread.h"
#include "devices/host_device.h"
#include "devices/paced_device.h"

namespace motley {
namespace {

class InlineDevice final : public HostDevice {
 public:
  InlineDevice(Loop& loop, const motley_kernels& kernels)
      : HostDevice({.name = fmt::format("inline {}", kernels.name)}, kernels), reporter_(loop) {}

  void* queue() const override { return nullptr; }
  ParallelFor& parallel() override { return *parallel_; }
  void Submit(double, Work work, Done done) override {
    auto report = std::make_unique<DoneReporter::Report>();
    report->done = std::move(done);
    report->status = RunWork(std::move(work));
    reporter_.Post(std::move(report));
  }
  void PostFromWork(Task task) override { reporter_.Post(std::move(task)); }

 private:
  const std::unique_ptr<ParallelFor> parallel_ = MakeSerialParallelFor();
  DoneReporter reporter_;
};

}  // namespace

Result<std::unique_ptr<Device>> MakeInlineDevice(Loop& loop) {
  for (const KernelModule& module : CpuKernelModules()) {
    if (module.name != "baseline") continue;
    if (module.kernels == nullptr) return Status::NotFound(module.reason);
    return std::unique_ptr<Device>(std::make_unique<InlineDevice>(loop, *module.kernels));
  }
  return Status::Internal("the list has no baseline kernel module");
}

}  // namespace motley
