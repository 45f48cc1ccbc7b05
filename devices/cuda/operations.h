// SPDX-License-Identifier: Apache-2.0
// The functions behind the table of devices/kernels.h, where they are documented. `queue` is a
// motley_driver_queue.
#pragma once

#include "devices/kernel_operations.h"

namespace motley::cuda {

const motley_kernels& Operations();

// c[i] += alpha * sum over slices of from[slice * count + i], with sums in float64. One launch.
void AddSlices(void* queue, size_t slices, size_t count, float alpha, const float* from, float* c);

MOTLEY_FOR_EACH_KERNEL(MOTLEY_DECLARE_KERNEL)

}  // namespace motley::cuda
