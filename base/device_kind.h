// SPDX-License-Identifier: Apache-2.0
// The list of the kinds of devices, with the names that users and files write. Each kind but the
// processor has a driver of the same name (devices/drivers/driver_modules.h).
#pragma once

#include <string_view>

namespace motley {

enum class DeviceKind : int { kCpu = 1, kCuda = 2, kOpenCl = 4 };  // The numbers are DLPack's.

struct NamedDeviceKind {
  DeviceKind kind;
  std::string_view name;
};
inline constexpr NamedDeviceKind kDeviceKinds[] = {
    {DeviceKind::kCpu, "cpu"}, {DeviceKind::kCuda, "cuda"}, {DeviceKind::kOpenCl, "opencl"}};

// "unknown" for a number that is not in the list.
constexpr std::string_view NameOf(DeviceKind kind) {
  for (const NamedDeviceKind& each : kDeviceKinds) {
    if (each.kind == kind) return each.name;
  }
  return "unknown";
}

}  // namespace motley
