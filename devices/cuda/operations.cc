// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/operations.h"

namespace motley::cuda {

const motley_kernels& Operations() {
  static constexpr motley_kernels kTable = {.version = MOTLEY_KERNELS_VERSION,
                                            .struct_size = sizeof(motley_kernels),
                                            .name = "cuda",
                                            MOTLEY_FOR_EACH_KERNEL(MOTLEY_KERNEL_ENTRY)};
  return kTable;
}

}  // namespace motley::cuda
