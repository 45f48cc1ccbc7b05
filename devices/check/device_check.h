// SPDX-License-Identifier: Apache-2.0
// Checks of a whole device, as a program sees it.
#pragma once

#include <functional>

#include "base/status.h"
#include "devices/check/kernel_checks.h"
#include "devices/device.h"

namespace motley::check {

// Inside of the device's Work (device.h). One of KernelChecks, on shapes that follow from `seed`.
// Not fine when the device itself failed.
Result<CheckedKernel> CheckOnDevice(Device& device, const KernelCheck& check, uint64_t seed,
                                    bool large);
// All of them; `told` hears of each when it is done.
Status CheckDevice(Device& device, uint64_t seed, bool large,
                   const std::function<void(const CheckedKernel&)>& told);

}  // namespace motley::check
