// SPDX-License-Identifier: Apache-2.0
// Checks every kernel of a device against float64, for motley devices --check.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/phases.h"
#include "devices/check/kernel_checks.h"
#include "devices/device_list.h"

namespace motley {

struct CheckedDevice {
  std::string label;  // "opencl:0"
  std::string name;
  std::vector<check::CheckedKernel> kernels;
  Status status;  // Not OK if the device failed; later kernels are then missing.
  bool ok() const;
};

// Runs on all cores and on the thread of each device. Each device is one phase.
std::vector<CheckedDevice> CheckDevices(const std::vector<ListedDevice>& devices, Phases& phases);

std::string ChecksText(const std::vector<CheckedDevice>& devices);
std::string ChecksJson(const std::vector<CheckedDevice>& devices);

}  // namespace motley
