// SPDX-License-Identifier: Apache-2.0
// The one symbol of a kernel module. The processor's features are checked before the module is
// loaded (devices/cpu/kernel_modules.cc), because an unsupported module cannot run its own check.
#include "devices/cpu/kernels/operations.h"

namespace motley::cpu {
namespace {

motley_kernels MakeTable() {
  return motley_kernels{.version = MOTLEY_KERNELS_VERSION,
                        .struct_size = sizeof(motley_kernels),
                        .name = MOTLEY_KERNELS_NAME,
                        MOTLEY_FOR_EACH_KERNEL(MOTLEY_KERNEL_ENTRY)};
}

}  // namespace
}  // namespace motley::cpu

extern "C" __attribute__((visibility("default"))) const motley_kernels* motley_kernels_get(
    uint32_t version) {
  if (version != MOTLEY_KERNELS_VERSION) return nullptr;
  static const motley_kernels table = motley::cpu::MakeTable();
  return &table;
}
