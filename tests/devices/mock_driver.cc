// SPDX-License-Identifier: Apache-2.0
#include "tests/devices/mock_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/assert.h"
#include "devices/cpu/cpu_device.h"
#include "devices/drivers/driver_modules.h"

// The CPU's kernels expect their own queue at the beginning of this one.
struct motley_driver_queue {
  motley_cpu_queue cpu;
  std::mutex mutex;
  std::map<void*, size_t> memory;  // Guarded by mutex.
};

namespace motley {
namespace {

void Say(const char* what, char* text, size_t size) { std::snprintf(text, size, "%s", what); }

const motley_kernels* Baseline() {
  for (const KernelModule& module : CpuKernelModules()) {
    if (module.name == "baseline") return module.kernels;
  }
  return nullptr;
}

// Takes some time, like real libraries, so that a second thread in here is noticed.
class Looking {
 public:
  Looking() {
    MockDriver& mock = MockDriver::Get();
    if (++mock.looking > 1) mock.looked_at_once = true;
    for (int i = 0; i < 4; ++i) std::this_thread::yield();
  }
  ~Looking() { --MockDriver::Get().looking; }
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;
};

size_t Find(char* reason, size_t reason_size) {
  const Looking looking;
  const size_t count = MockDriver::Get().devices;
  if (count == 0) Say("no mock is plugged in", reason, reason_size);
  return count;
}

void Describe(size_t index, motley_driver_device* device) {
  const Looking looking;
  *device = {.kind = 4, .units = 2, .memory_bytes = MockDriver::Get().memory_bytes, .id = index};
  std::snprintf(device->name, sizeof(device->name), "mock %zu", index);
  Say("Mocks", device->platform, sizeof(device->platform));
  if (index > 0) Say("only the first mock works", device->reason, sizeof(device->reason));
}

motley_driver_queue* Open(uint64_t, const char*, char* error, size_t error_size) {
  ++MockDriver::Get().opens;
  MockDriver::Get().opens.notify_all();
  MockDriver::Get().open_hangs.wait(true);
  if (MockDriver::Get().no_kernels) {
    Say("the kernels do not compile: line 1: what is this?", error, error_size);
    return nullptr;
  }
  ++MockDriver::Get().open_queues;
  const auto serial = [](void*, size_t count, size_t, void (*body)(void*, size_t, size_t),
                         void* context) { body(context, 0, count); };
  auto* const queue = new motley_driver_queue;
  queue->cpu = {.context = nullptr, .threads = 1, .parallel_for = serial};
  return queue;
}

void Close(motley_driver_queue* queue) {
  MockDriver::Get().close_hangs.wait(true);
  MOTLEY_ASSERT(queue->memory.empty());
  --MockDriver::Get().open_queues;
  delete queue;
}

const motley_kernels* Kernels(motley_driver_queue*) {
  static motley_kernels old;
  if (!MockDriver::Get().old_kernels) return Baseline();
  old = {.version = MOTLEY_KERNELS_VERSION - 1, .struct_size = sizeof(motley_kernels)};
  return &old;
}

void* Allocate(motley_driver_queue* queue, size_t size_bytes) {
  MockDriver& mock = MockDriver::Get();
  if (size_bytes > mock.memory_bytes) return nullptr;
  void* const memory = std::aligned_alloc(64, (size_bytes / 64 + 1) * 64);
  if (memory == nullptr) return nullptr;
  std::memset(memory, 0xff, size_bytes);  // NaN: nobody may rely on zeros.
  ++mock.allocations;
  mock.held_bytes += size_bytes;
  const std::lock_guard lock(queue->mutex);
  queue->memory[memory] = size_bytes;
  return memory;
}

void Free(motley_driver_queue* queue, void* memory) {
  const std::lock_guard lock(queue->mutex);
  const auto found = queue->memory.find(memory);
  MOTLEY_ASSERT(found != queue->memory.end());
  MockDriver::Get().held_bytes -= found->second;
  queue->memory.erase(found);
  std::free(memory);
}

// Checks that the range is inside one allocation of this queue.
void CheckOwn(motley_driver_queue* queue, const void* data, size_t size_bytes) {
  const std::lock_guard lock(queue->mutex);
  auto found = queue->memory.upper_bound(const_cast<void*>(data));
  MOTLEY_ASSERT(found != queue->memory.begin());
  --found;
  const size_t offset = static_cast<const char*>(data) - static_cast<const char*>(found->first);
  MOTLEY_ASSERT(offset + size_bytes <= found->second);
}

uint64_t Mark(motley_driver_queue*) { return ++MockDriver::Get().marks; }

int CopyIn(motley_driver_queue* queue, uint64_t, void* to, const void* from, size_t size_bytes) {
  CheckOwn(queue, to, size_bytes);
  MockDriver::Get().copied_in_bytes += size_bytes;
  std::memcpy(to, from, size_bytes);
  return MOTLEY_DRIVER_OK;
}

// Copies in two pieces, as devices may.
int CopyOut(motley_driver_queue* queue, uint64_t, const void* from, size_t size_bytes,
            motley_take_piece take, void* context) {
  CheckOwn(queue, from, size_bytes);
  MockDriver::Get().copied_out_bytes += size_bytes;
  if (MockDriver::Get().fails != MOTLEY_DRIVER_OK) return MockDriver::Get().fails;
  const size_t first = size_bytes / 16 * 8;
  take(context, 0, from, first);
  take(context, first, static_cast<const char*>(from) + first, size_bytes - first);
  return MOTLEY_DRIVER_OK;
}

int Finish(motley_driver_queue*, char* error, size_t error_size) {
  MockDriver::Get().hangs.wait(true);
  const int code = MockDriver::Get().fails.exchange(MOTLEY_DRIVER_OK);
  if (code != MOTLEY_DRIVER_OK) Say("the mock fell off", error, error_size);
  ++MockDriver::Get().finishes;
  return code;
}

constexpr motley_driver kTable = {.version = MOTLEY_DRIVER_VERSION,
                                  .struct_size = sizeof(motley_driver),
                                  .name = "mock",
                                  .find = Find,
                                  .describe = Describe,
                                  .open = Open,
                                  .close = Close,
                                  .kernels = Kernels,
                                  .allocate = Allocate,
                                  .free = Free,
                                  .mark = Mark,
                                  .copy_in = CopyIn,
                                  .copy_out = CopyOut,
                                  .finish = Finish};

}  // namespace

MockDriver& MockDriver::Get() {
  static MockDriver mock;
  return mock;
}

void MockDriver::Reset() {
  MOTLEY_ASSERT(open_queues == 0 && held_bytes == 0);
  devices = 1;
  no_kernels = false;
  memory_bytes = 1ull << 32;
  fails = MOTLEY_DRIVER_OK;
  hangs = open_hangs = close_hangs = old_kernels = looked_at_once = false;
  opens = finishes = 0;
  allocations = copied_in_bytes = copied_out_bytes = marks = 0;
}

const motley_driver& MockDriver::table() const { return kTable; }

Result<std::unique_ptr<Device>> MockDriver::Make(Loop& loop, size_t index) {
  std::string reason;
  return MakeDriverDevice(loop, kTable, FindDriverDevices(kTable, reason).at(index), "");
}

}  // namespace motley
