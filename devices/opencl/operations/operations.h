// SPDX-License-Identifier: Apache-2.0
// The functions behind the table of devices/kernels.h, where they are documented.
#pragma once

#include "devices/kernel_operations.h"

namespace motley::opencl {

MOTLEY_FOR_EACH_KERNEL(MOTLEY_DECLARE_KERNEL)

}  // namespace motley::opencl
