// SPDX-License-Identifier: Apache-2.0
// The host's processor as a Device: one driver thread, a TBB arena of `threads`, and the kernel
// module of the best instruction set that this processor has, loaded with dlopen.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "devices/cpu/cpu_queue.h"
#include "devices/device.h"

namespace motley {

// That this process may use, at most 256.
uint32_t CpuThreads();

struct CpuDeviceOptions {
  uint32_t threads = 0;        // At most 256; 0: all this process may use.
  std::string kernels;         // "baseline", "avx2", "avx512"; empty: the best there is.
  bool plain_threads = false;  // ParallelFor without TBB (for thread sanitizer).
  // Its thread takes only what processor time others leave. For one thread.
  bool background = false;
};

// kNotFound when no module can be loaded (says where it looked); kInvalidArgument for an unknown
// or unsupported module. `loop` must outlive the device.
Result<std::unique_ptr<Device>> MakeCpuDevice(Loop& loop, const CpuDeviceOptions& options);

// A TBB arena of at most 256 threads behind the seam. Cuts are the same for every number of
// threads.
std::unique_ptr<ParallelFor> MakeTbbParallelFor(size_t threads);

// The `queue` of CPU kernels that lends them the threads of `parallel`, which must outlive it.
motley_cpu_queue MakeCpuQueue(ParallelFor& parallel);

// Kernel modules that load and run here, best first, and why the others do not.
struct KernelModule {
  std::string name;
  const motley_kernels* kernels = nullptr;  // Null when not usable.
  std::string reason;                       // Why not.
  bool starved = false;  // It is there, but this process may open no more, or has no memory.
};
// Loaded once; but where modules were starved, each call tries again. Any thread.
std::vector<KernelModule> CpuKernelModules();

}  // namespace motley
