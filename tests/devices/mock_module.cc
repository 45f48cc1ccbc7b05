// SPDX-License-Identifier: Apache-2.0
// The mock driver as a module that programs load instead of motley-opencl.so. Each search for
// devices reads MOTLEY_MOCK, which selects a fault:
//   "build": kernels do not compile
//   "open", "close": the call hangs
//   "wrong": one kernel is slightly off
//   "memory", "lost", "hang": after some work, the device is out of memory, lost, or hangs
//   "abort-find", "abort": abort() while devices are searched, or while one is opened
//   "abort-work": after some work, abort() on the thread that waits for it
//   "abort-pool": after some work, abort() on one of the driver's own threads
//   "exit": open calls exit()
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tests/devices/mock_driver.h"

namespace motley {
namespace {

constexpr int kGoodPieces = 20;

std::string_view Trouble() {
  const char* const trouble = std::getenv("MOTLEY_MOCK");
  return trouble != nullptr ? trouble : "";
}

std::atomic<int> pieces = 0;

bool Now(std::string_view trouble) { return pieces > kGoodPieces && Trouble() == trouble; }

size_t Find(char* reason, size_t reason_size) {
  MockDriver& mock = MockDriver::Get();
  if (Trouble() == "abort-find") std::abort();
  pieces = 0;
  mock.no_kernels = Trouble() == "build";
  mock.open_hangs = Trouble() == "open";
  mock.close_hangs = Trouble() == "close";
  return mock.table().find(reason, reason_size);
}

// Pretends to compute with the other threads.
void Pool() {
  MockDriver::Get().pool_aborts.wait(false);
  std::abort();
}

motley_driver_queue* Open(uint64_t id, const char* folder, char* error, size_t error_size) {
  if (Trouble() == "abort") std::abort();
  if (Trouble() == "exit") std::exit(1);
  if (Trouble() == "abort-pool") std::thread(Pool).detach();
  return MockDriver::Get().table().open(id, folder, error, error_size);
}

int CopyIn(motley_driver_queue* queue, uint64_t after, void* to, const void* from,
           size_t size_bytes) {
  MockDriver& mock = MockDriver::Get();
  if (Now("memory")) mock.fails = MOTLEY_DRIVER_NO_MEMORY;
  return Now("memory") ? MOTLEY_DRIVER_NO_MEMORY
                       : mock.table().copy_in(queue, after, to, from, size_bytes);
}

// Kernels with one that is slightly off. All queues share them, and several threads may open queues
// at the same time.
const motley_kernels* Kernels(motley_driver_queue* queue) {
  static const motley_kernels* const right = MockDriver::Get().table().kernels(queue);
  static const motley_kernels wrong = [] {
    motley_kernels made = *right;
    made.axpy = [](void* q, size_t count, float alpha, const float* x, float* y) {
      right->axpy(q, count, alpha * 1.0001f, x, y);
    };
    return made;
  }();
  return Trouble() == "wrong" ? &wrong : right;
}

int Finish(motley_driver_queue* queue, char* error, size_t error_size) {
  MockDriver& mock = MockDriver::Get();
  ++pieces;
  if (Now("lost")) mock.fails = MOTLEY_DRIVER_LOST;
  if (Now("hang") || Now("abort-pool")) mock.hangs = true;
  if (Now("abort-work")) std::abort();
  if (Now("abort-pool")) {
    mock.pool_aborts = true;
    mock.pool_aborts.notify_all();
  }
  return mock.table().finish(queue, error, error_size);
}

const motley_driver* Table() {
  static const motley_driver table = [] {
    motley_driver made = MockDriver::Get().table();
    made.find = Find;
    made.open = Open;
    made.copy_in = CopyIn;
    made.finish = Finish;
    made.kernels = Kernels;
    return made;
  }();
  return &table;
}

}  // namespace
}  // namespace motley

extern "C" __attribute__((visibility("default"))) const motley_driver* motley_driver_get(
    uint32_t version) {
  return version == MOTLEY_DRIVER_VERSION ? motley::Table() : nullptr;
}
