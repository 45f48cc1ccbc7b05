// SPDX-License-Identifier: Apache-2.0
// The host's processor as a Device. It has one driver thread, a TBB arena of `threads`, and the
// kernel module of the best instruction set that the processor supports, loaded with dlopen.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "devices/cpu/cpu_queue.h"
#include "devices/device.h"

namespace motley {

// The number of threads that this process may use, at most 256.
uint32_t CpuThreads();

struct CpuDeviceOptions {
  uint32_t threads = 0;        // At most 256; 0: all that this process may use.
  std::string kernels;         // "baseline", "avx2", "avx512"; empty: the best.
  bool plain_threads = false;  // ParallelFor without TBB (for thread sanitizer).
  // The device's thread only takes processor time that others leave. For one thread.
  bool background = false;
};

// kNotFound when no module can be loaded, with the searched folders; kInvalidArgument for an
// unknown or unsupported module. `loop` must outlive the device.
Result<std::unique_ptr<Device>> MakeCpuDevice(Loop& loop, const CpuDeviceOptions& options);

// ParallelFor with a TBB arena of at most 256 threads. Cuts are the same for every number of
// threads.
std::unique_ptr<ParallelFor> MakeTbbParallelFor(size_t threads);

// A `queue` for CPU kernels that lends them the threads of `parallel`, which must outlive it.
motley_cpu_queue MakeCpuQueue(ParallelFor& parallel);

// A kernel module of this architecture.
struct KernelModule {
  std::string name;
  const motley_kernels* kernels = nullptr;  // Null if not usable.
  std::string reason;                       // Why it is not usable.
  bool starved = false;  // The file exists, but this process is out of descriptors or memory.
};
// All modules, best first. They are loaded once; if some were starved, each call tries them again.
// Any thread.
std::vector<KernelModule> CpuKernelModules();

}  // namespace motley
