// SPDX-License-Identifier: Apache-2.0
// One compute device: a queue, its memory, copies, and a table of kernels. CPU, CUDA, OpenCL and
// simulated devices pass one conformance suite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/function.h"
#include "base/loop/loop.h"
#include "base/parallel.h"
#include "base/status.h"
#include "devices/kernels.h"

namespace motley {

enum class DeviceKind : int { kCpu = 1, kCuda = 2, kOpenCl = 4 };  // DLPack's numbers.

struct DeviceInfo {
  std::string name;  // "AMD EPYC, 1 thread, avx512"
  DeviceKind kind = DeviceKind::kCpu;
  uint64_t memory_bytes = 0;
  uint32_t threads = 1;  // Of the host, for parallel().
};

// Memory of one device, freed with its last owner. `data` may only be dereferenced on the host when
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

// A moment in the order of a queue's calls.
using Moment = uint64_t;
inline constexpr Moment kNow = UINT64_MAX;  // After everything.

// `offset`: of the piece in what is copied, a multiple of 8, as is the address. The bytes are there
// for the time of the call.
using TakePiece = std::function<void(size_t offset, BytesView piece)>;

class Device {
 public:
  // Runs on the device's thread; may use kernels(), copies and parallel() of this device.
  using Work = Function<Status()>;
  using Done = Function<void(Status), 64>;  // With room for a trainer's account of its work.

  virtual ~Device() = default;  // Waits for the work in progress; pending Done are not called.

  virtual const DeviceInfo& info() const = 0;
  virtual const motley_kernels& kernels() const = 0;
  virtual void* queue() const = 0;  // First argument of every kernel.
  virtual bool host_accessible() const = 0;

  // Any thread. 64-byte aligned, not zeroed. kResource when there is not enough.
  virtual Result<Buffer> Allocate(size_t size_bytes) = 0;
  // Inside Work only, as are copies. After all kernels and copies that were called until now. Some
  // sixty are told apart; who names an older one may wait for more.
  virtual Moment Mark() { return kNow; }
  // Copies wait for what was called before `after`, and for nothing called since: kernels that run
  // beside them must not touch the range. It must lie inside the buffer. `from` may change when
  // CopyInAfter returns, and what is called later finds it there.
  virtual Status CopyInAfter(Moment after, const Buffer& to, size_t offset, BytesView from) = 0;
  // Hands over all bytes, piece by piece, before it returns.
  virtual Status CopyOutAfter(Moment after, const Buffer& from, size_t offset, size_t size_bytes,
                              const TakePiece& take) = 0;
  // In the order called.
  Status CopyIn(const Buffer& to, size_t offset, BytesView from) {
    return CopyInAfter(kNow, to, offset, from);
  }
  Status CopyOut(const Buffer& from, size_t offset, std::span<std::byte> to);

  // Loop thread. Work runs in the order submitted; `done` runs exactly once, on the loop thread.
  // `units`: how much work it is, in samples; emulated and simulated devices take their time by it.
  virtual void Submit(double units, Work work, Done done) = 0;
  // Inside Work only: `task` runs on the loop thread, in the order of the calls, before the work's
  // Done; no sooner than that where time is emulated.
  virtual void PostFromWork(Task task) = 0;
  // For host-side arithmetic that goes with this device (encode, decode, reductions).
  virtual ParallelFor& parallel() = 0;

  // The devices that this one is made of (joined_device.h); none: it is one.
  virtual std::span<Device* const> parts() const { return {}; }

  // For devices whose work may never come back. Loop thread, when nothing more is submitted.
  // Waits until no work is in progress; false when it still is after `limit` of real time.
  virtual bool Rest(Duration /*limit*/) { return true; }
  // Nothing is reported from now on, not even to the loop, which may go. The device may then never
  // be destroyed (stuck_devices.h).
  virtual void Abandon() {}
};

}  // namespace motley
