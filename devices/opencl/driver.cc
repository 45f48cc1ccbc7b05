// SPDX-License-Identifier: Apache-2.0
// The one symbol of the driver, and its table (documented in devices/drivers/driver.h).
#include "devices/drivers/driver.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/device_kind.h"
#include "base/text.h"
#include "devices/opencl/operations/operations.h"
#include "devices/opencl/operations/products.h"
#include "devices/opencl/queue.h"

namespace motley::opencl {
namespace {

std::atomic<size_t> open_queues{0};

// All devices ever found, by their ids. OpenCL's devices stay valid, and queues may be opened while
// another thread looks for devices.
class KnownDevices {
 public:
  // Records the devices of a new search; returns their number.
  size_t Take(std::vector<FoundDevice> found) {
    const std::lock_guard lock(mutex_);
    listed_.clear();
    for (FoundDevice& device : found) {
      const auto known = std::find_if(all_.begin(), all_.end(), [&](const FoundDevice& other) {
        return other.platform == device.platform && other.id == device.id;
      });
      listed_.push_back(static_cast<uint64_t>(known - all_.begin()));
      if (known != all_.end()) {
        *known = std::move(device);
      } else {
        all_.push_back(std::move(device));
      }
    }
    return listed_.size();
  }
  uint64_t Id(size_t index) const {
    const std::lock_guard lock(mutex_);
    return listed_.at(index);
  }
  FoundDevice Get(uint64_t id) const {
    const std::lock_guard lock(mutex_);
    return all_.at(id);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<FoundDevice> all_;
  std::vector<uint64_t> listed_;  // The ids of the last find.
};

KnownDevices& Known() {
  static KnownDevices known;
  return known;
}

void CopyText(std::string_view text, char* to, size_t size) {
  if (to == nullptr || size == 0) return;
  const std::string clean = CleanText(text, size - 1);
  std::memcpy(to, clean.data(), clean.size());
  to[clean.size()] = '\0';
}

size_t Find(char* reason, size_t reason_size) {
  std::string why;
  std::vector<FoundDevice> found = FindDevices(why);
  CopyText(why, reason, reason_size);
  return Known().Take(std::move(found));
}

void Describe(size_t index, motley_driver_device* device) {
  device->id = Known().Id(index);
  const FoundDevice found = Known().Get(device->id);
  CopyText(found.name, device->name, sizeof(device->name));
  CopyText(found.platform_text, device->platform, sizeof(device->platform));
  CopyText(found.reason, device->reason, sizeof(device->reason));
  device->kind = static_cast<int>(DeviceKind::kOpenCl);
  device->is_processor = found.is_processor ? 1 : 0;
  device->units = found.units;
  device->memory_bytes = found.memory_bytes;
}

motley_driver_queue* Open(uint64_t id, const char* cache_folder, char* error, size_t error_size) {
  const FoundDevice found = Known().Get(id);
  if (!found.reason.empty()) {
    CopyText(found.reason, error, error_size);
    return nullptr;
  }
  auto queue = Queue::Open(found, cache_folder == nullptr ? "" : cache_folder);
  if (!queue.ok()) {
    CopyText(queue.status().ToString(), error, error_size);
    return nullptr;
  }
  ++open_queues;
  return reinterpret_cast<motley_driver_queue*>(std::move(queue).value().release());
}

Queue& Of(motley_driver_queue* queue) { return *reinterpret_cast<Queue*>(queue); }

void Close(motley_driver_queue* queue) {
  delete &Of(queue);
  if (--open_queues == 0) ForgetClBlastPrograms();
}

int Finish(motley_driver_queue* queue, char* error, size_t error_size) {
  std::string what;
  const int code = Of(queue).Finish(what);
  CopyText(what, error, error_size);
  return code;
}

const motley_kernels kKernels{.version = MOTLEY_KERNELS_VERSION,
                              .struct_size = sizeof(motley_kernels),
                              .name = "opencl",
                              MOTLEY_FOR_EACH_KERNEL(MOTLEY_KERNEL_ENTRY)};

const motley_driver kDriver{
    .version = MOTLEY_DRIVER_VERSION,
    .struct_size = sizeof(motley_driver),
    .name = "opencl",
    .find = Find,
    .describe = Describe,
    .open = Open,
    .close = Close,
    .kernels = [](motley_driver_queue*) { return &kKernels; },
    .allocate = [](motley_driver_queue* queue,
                   size_t size_bytes) { return Of(queue).memory().Allocate(size_bytes); },
    .free = [](motley_driver_queue* queue, void* memory) { Of(queue).memory().Free(memory); },
    .mark = [](motley_driver_queue* queue) { return Of(queue).Mark(); },
    .copy_in = [](motley_driver_queue* queue, uint64_t after, void* to, const void* from,
                  size_t size_bytes) { return Of(queue).CopyIn(after, to, from, size_bytes); },
    .copy_out =
        [](motley_driver_queue* queue, uint64_t after, const void* from, size_t size_bytes,
           motley_take_piece take,
           void* context) { return Of(queue).CopyOut(after, from, size_bytes, take, context); },
    .finish = Finish,
};

}  // namespace
}  // namespace motley::opencl

extern "C" __attribute__((visibility("default"))) const motley_driver* motley_driver_get(
    uint32_t version) {
  return version == MOTLEY_DRIVER_VERSION ? &motley::opencl::kDriver : nullptr;
}
