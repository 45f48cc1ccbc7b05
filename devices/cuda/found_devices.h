// SPDX-License-Identifier: Apache-2.0
// Finds the devices that CUDA shows, and the reasons why some cannot be used.
#pragma once

#include <cstddef>

#include "devices/drivers/driver.h"

namespace motley::cuda {

// motley_driver.find and describe.
size_t Find(char* reason, size_t reason_size);
void Describe(size_t index, motley_driver_device* device);

}  // namespace motley::cuda
