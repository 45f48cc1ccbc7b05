// SPDX-License-Identifier: Apache-2.0
// Kernel checks on a whole device.
#pragma once

#include <functional>

#include "base/status.h"
#include "devices/check/kernel_checks.h"
#include "devices/device.h"

namespace motley::check {

// To be called inside the device's Work (device.h). Runs one of KernelChecks, with shapes that
// follow from `seed`. An error if the device itself failed.
Result<CheckedKernel> CheckOnDevice(Device& device, const KernelCheck& check, uint64_t seed,
                                    bool large);
// Runs all checks and passes each result to `report`.
Status CheckDevice(Device& device, uint64_t seed, bool large,
                   const std::function<void(const CheckedKernel&)>& report);

}  // namespace motley::check
