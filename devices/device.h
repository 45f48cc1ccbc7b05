// SPDX-License-Identifier: Apache-2.0
// One compute device: a queue, its memory, copies, and a table of kernels. Devices of every kind
// pass one conformance suite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/device_kind.h"
#include "base/function.h"
#include "base/loop/loop.h"
#include "base/parallel.h"
#include "base/status.h"
#include "devices/kernels.h"

namespace motley {

struct DeviceInfo {
  std::string name;  // "AMD EPYC, 1 thread, avx512"
  DeviceKind kind = DeviceKind::kCpu;
  uint64_t memory_bytes = 0;
  uint32_t threads = 1;  // Host threads for parallel().
};

// Memory of one device, freed by its owner's destructor. The host may dereference `data` only if
// the device is host_accessible().
class Buffer {
 public:
  Buffer() = default;
  Buffer(void* data, size_t size_bytes, std::function<void(void*)> free);
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  ~Buffer();

  float* floats() const { return static_cast<float*>(data_); }
  void* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }

 private:
  void* data_ = nullptr;
  size_t size_bytes_ = 0;
  std::function<void(void*)> free_;
};

// A point in the order of a queue's calls.
using Moment = uint64_t;
inline constexpr Moment kNow = UINT64_MAX;  // After everything.

// Receives one piece of a copy. `offset` is the piece's place in the copied range; offset and
// address are multiples of 8. The bytes are valid during the call.
using TakePiece = std::function<void(size_t offset, BytesView piece)>;

class Device {
 public:
  // Runs on the device's thread, and may use the device's kernels(), copies and parallel().
  using Work = Function<Status()>;
  using Done = Function<void(Status), 64>;  // Room for a trainer's report of its work.

  virtual ~Device() = default;  // Waits for the running work; pending Done are not called.

  virtual const DeviceInfo& info() const = 0;
  virtual const motley_kernels& kernels() const = 0;
  virtual void* queue() const = 0;  // First argument of every kernel.
  virtual bool host_accessible() const = 0;

  // Any thread. The memory is 64-byte aligned and not zeroed. kResource when there is too little.
  virtual Result<Buffer> Allocate(size_t size_bytes) = 0;
  // Only inside Work, like the copies. The point after all kernels and copies called so far. A
  // device keeps about the last sixty; a copy after an older one may wait longer than necessary.
  virtual Moment Mark() { return kNow; }
  // Copies wait for what was called before `after`, and for nothing called since. Kernels that run
  // at the same time must not touch the range, which must lie inside the buffer. `from` may change
  // once CopyInAfter returns, and later calls see the copied bytes.
  virtual Status CopyInAfter(Moment after, const Buffer& to, size_t offset, BytesView from) = 0;
  // Hands over all bytes, piece by piece, before it returns.
  virtual Status CopyOutAfter(Moment after, const Buffer& from, size_t offset, size_t size_bytes,
                              const TakePiece& take) = 0;
  // Copies in the order of calls.
  Status CopyIn(const Buffer& to, size_t offset, BytesView from) {
    return CopyInAfter(kNow, to, offset, from);
  }
  Status CopyOut(const Buffer& from, size_t offset, std::span<std::byte> to);

  // Loop thread. Work runs in the order submitted; `done` runs exactly once, on the loop thread.
  // `units` is the amount of work in samples, which determines the time on emulated and simulated
  // devices.
  virtual void Submit(double units, Work work, Done done) = 0;
  // Only inside Work. `task` runs on the loop thread, in the order of the calls and before the
  // work's Done. If time is emulated, it runs no sooner than the Done is due.
  virtual void PostFromWork(Task task) = 0;
  // Runs host-side arithmetic that belongs to this device (encode, decode, reductions).
  virtual ParallelFor& parallel() = 0;

  // The parts of a joined device (joined_device.h); empty for a single device.
  virtual std::span<Device* const> parts() const { return {}; }

  // For devices with work that may never return. Loop thread, after the last Submit. Waits until no
  // work is running; returns false if some still is after `limit` of real time.
  virtual bool Rest(Duration /*limit*/) { return true; }
  // Stops all reports, also those to the loop, which may then be destroyed. The device itself may
  // never be destroyed afterwards (stuck_devices.h).
  virtual void Abandon() {}
};

}  // namespace motley
