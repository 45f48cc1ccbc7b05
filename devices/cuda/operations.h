// SPDX-License-Identifier: Apache-2.0
// The functions behind the table of devices/kernels.h, which says what each one does. `queue` is a
// motley_driver_queue.
#pragma once

#include "devices/kernel_operations.h"

namespace motley::cuda {

const motley_kernels& Operations();

MOTLEY_FOR_EACH_KERNEL(MOTLEY_DECLARE_KERNEL)

}  // namespace motley::cuda
