// SPDX-License-Identifier: Apache-2.0
// Checks of a whole device, as a program sees it.
#pragma once

#include <functional>

#include "base/status.h"
#include "devices/check/kernel_checks.h"
#include "devices/device.h"

namespace motley::check {

// Inside of the device's Work (device.h). Every kernel on shapes that follow from `seed`; `told`
// hears of each when it is done. Not fine when the device itself failed.
Status CheckDevice(Device& device, uint64_t seed, bool large,
                   const std::function<void(const CheckedKernel&)>& told);

}  // namespace motley::check
