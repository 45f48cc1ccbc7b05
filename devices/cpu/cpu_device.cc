// SPDX-License-Identifier: Apache-2.0
#include "devices/cpu/cpu_device.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <tbb/info.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "devices/cpu/kernel_modules.h"
#include "devices/device_thread.h"
#include "devices/host_device.h"

namespace motley {
namespace {

constexpr uint32_t kMostThreads = 256;

// Lowers the calling thread's priority. On Linux priorities belong to threads, and lowering one is
// always allowed.
void LowerPriority() {
  constexpr int kNicest = 19;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNicest);
}

// Lends its arena to the kernels that its thread calls.
class CpuDevice final : public HostDevice {
 public:
  CpuDevice(Loop& loop, DeviceInfo info, const motley_kernels& kernels,
            std::unique_ptr<ParallelFor> parallel, bool background)
      : HostDevice(std::move(info), kernels),
        parallel_(std::move(parallel)),
        queue_(MakeCpuQueue(*parallel_)),
        thread_(loop, [background, nice = false](Work work) mutable {
          if (background && !std::exchange(nice, true)) LowerPriority();
          return RunWork(std::move(work));
        }) {}

  void* queue() const override { return parallel_->threads() > 1 ? &queue_ : nullptr; }
  ParallelFor& parallel() override { return *parallel_; }
  void Submit(double, Work work, Done done) override {
    thread_.Submit(std::move(work), std::move(done));
  }
  void PostFromWork(Task task) override { thread_.PostFromWork(std::move(task)); }

 private:
  const std::unique_ptr<ParallelFor> parallel_;
  mutable motley_cpu_queue queue_;
  DeviceThread thread_;  // Last, so that it is destroyed first.
};

// The module with that name, or the best one for an empty name.
Result<const motley_kernels*> Choose(const std::string& name) {
  const std::vector<KernelModule>& modules = CpuKernelModules();
  for (const KernelModule& module : modules) {
    if (module.kernels != nullptr && (name.empty() || name == module.name)) return module.kernels;
  }
  if (name.empty()) return NoKernelModule(modules);
  return Status::InvalidArgument(
      fmt::format("cannot use the kernel module '{}': {}", name, ReasonsOf(modules)));
}

std::unique_ptr<ParallelFor> MakeParallelFor(uint32_t threads, bool plain_threads) {
  if (threads == 1) return MakeSerialParallelFor();
  return plain_threads ? MakeThreadParallelFor(threads) : MakeTbbParallelFor(threads);
}

}  // namespace

uint32_t CpuThreads() {
  return std::min(kMostThreads, static_cast<uint32_t>(tbb::info::default_concurrency()));
}

motley_cpu_queue MakeCpuQueue(ParallelFor& parallel) {
  const auto run = [](void* context, size_t count, size_t grain,
                      void (*body)(void*, size_t, size_t), void* body_context) {
    static_cast<ParallelFor*>(context)->For(
        count, grain, [=](size_t begin, size_t end) { body(body_context, begin, end); });
  };
  return {.context = &parallel, .threads = parallel.threads(), .parallel_for = run};
}

Result<std::unique_ptr<Device>> MakeCpuDevice(Loop& loop, const CpuDeviceOptions& options) {
  if (options.threads > kMostThreads) {
    return Status::InvalidArgument(fmt::format(
        "{} threads are too many for a device; use at most {}", options.threads, kMostThreads));
  }
  MOTLEY_ASSIGN_OR_RETURN(const motley_kernels* kernels, Choose(options.kernels));
  DeviceInfo info;
  info.threads = options.threads > 0 ? options.threads : CpuThreads();
  info.name = fmt::format("cpu {}, {} {}", kernels->name, info.threads,
                          info.threads == 1 ? "thread" : "threads");
  try {
    auto parallel = MakeParallelFor(info.threads, options.plain_threads);
    return std::unique_ptr<Device>(std::make_unique<CpuDevice>(
        loop, std::move(info), *kernels, std::move(parallel), options.background));
  } catch (const std::exception& error) {
    return Status::Resource(fmt::format("cannot start the threads of a device: {}", error.what()));
  }
}

}  // namespace motley
