// SPDX-License-Identifier: Apache-2.0
#include "devices/drivers.h"

#include "devices/cpu/cpu_device.h"

namespace motley {
namespace {

std::string WhyNoCpu() {
  std::string reasons;
  for (const KernelModule& module : CpuKernelModules()) {
    if (module.kernels != nullptr) return "";
    reasons += (reasons.empty() ? "" : "; ") + module.reason;
  }
  return reasons;
}

}  // namespace

std::vector<Driver> Drivers() {
  return {
      {"cpu", WhyNoCpu(), [](Loop& loop) { return MakeCpuDevice(loop, CpuDeviceOptions{}); }},
  };
}

}  // namespace motley
