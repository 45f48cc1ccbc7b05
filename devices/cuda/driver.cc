// SPDX-License-Identifier: Apache-2.0
// The one symbol of the plug-in, and its table (devices/drivers/driver.h).
#include "devices/drivers/driver.h"

#include <cstdint>
#include <cstdio>
#include <new>

#include "devices/cuda/found_devices.h"
#include "devices/cuda/operations.h"
#include "devices/cuda/queue.h"

namespace motley::cuda {
namespace {

Queue& Own(motley_driver_queue* queue) { return *static_cast<Queue*>(queue); }

// Kernels are compiled with the plug-in, and CUDA itself caches those that it makes for newer
// devices. So there is no cache folder.
motley_driver_queue* OpenQueue(uint64_t id, const char*, char* error, size_t error_size) {
  auto* queue = new (std::nothrow) Queue(static_cast<int>(id));
  if (queue == nullptr) {
    std::snprintf(error, error_size, "the host is out of memory");
    return nullptr;
  }
  if (queue->Open()) return queue;
  queue->failure.Report(error, error_size);
  delete queue;
  return nullptr;
}

constexpr motley_driver kDriver = {
    .version = MOTLEY_DRIVER_VERSION,
    .struct_size = sizeof(motley_driver),
    .name = "cuda",
    .find = Find,
    .describe = Describe,
    .open = OpenQueue,
    .close = [](motley_driver_queue* queue) { delete &Own(queue); },
    .kernels = [](motley_driver_queue*) { return &Operations(); },
    .allocate = [](motley_driver_queue* queue, size_t size) { return Own(queue).Allocate(size); },
    .free = [](motley_driver_queue* queue, void* memory) { Own(queue).Free(memory); },
    .mark = [](motley_driver_queue* queue) { return Own(queue).Mark(); },
    .copy_in = [](motley_driver_queue* queue, uint64_t after, void* to, const void* from,
                  size_t size) { return Own(queue).CopyIn(after, to, from, size); },
    .copy_out = [](motley_driver_queue* queue, uint64_t after, const void* from, size_t size,
                   motley_take_piece take,
                   void* context) { return Own(queue).CopyOut(after, from, size, take, context); },
    .finish = [](motley_driver_queue* queue, char* error,
                 size_t error_size) { return Own(queue).Finish(error, error_size); },
};

}  // namespace
}  // namespace motley::cuda

extern "C" __attribute__((visibility("default"))) const motley_driver* motley_driver_get(
    uint32_t version) {
  return version == MOTLEY_DRIVER_VERSION ? &motley::cuda::kDriver : nullptr;
}
