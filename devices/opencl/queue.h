// SPDX-License-Identifier: Apache-2.0
// An open device: its in-order command queue, memory, compiled kernels, scratch memory, and first
// failure. One thread at a time, except memory().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "devices/drivers/driver.h"
#include "devices/opencl/kernel_names.h"
#include "devices/opencl/memory.h"

namespace motley::opencl {

// An operand: the elements of a buffer from `first` on.
struct Place {
  cl_mem buffer = nullptr;
  cl_ulong first = 0;
};

// Memory that the queue keeps between calls. Each grows to the largest size requested.
enum class Scratch { kSums, kEntries, kProduct, kCount };

class Queue {
 public:
  // Compiled programs are kept in `cache_folder`; empty: nowhere.
  static Result<std::unique_ptr<Queue>> Open(const FoundDevice& device,
                                             const std::string& cache_folder);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue();

  const FoundDevice& device() const { return device_; }
  Memory& memory() { return *memory_; }
  cl_command_queue commands() const { return commands_.get(); }
  cl_kernel kernel(KernelName name) const { return kernels_[static_cast<size_t>(name)].get(); }
  size_t group_items() const { return group_items_; }
  // Floats in a processor's register. 0 on other devices; these have no kernels from kPackPanels
  // on.
  size_t lanes() const { return device_.is_processor ? device_.lanes : 0; }

  // Only the first failure is kept. Nothing more is enqueued until Finish has reported it.
  bool failed() const { return failure_ != CL_SUCCESS; }
  void Fail(cl_int code, std::string what);
  // MOTLEY_DRIVER_* of the first failure so far.
  int code() const;

  // The place of `count` elements at `data`. The queue fails if they are not inside one allocation.
  template <typename T>
  Place Find(const T* data, size_t count) {
    return FindBytes(data, count, sizeof(T));
  }
  // The same for all elements from `data` on; a null place for null.
  template <typename T>
  Place FindRest(const T* data) {
    const size_t rest = Rest(data);
    return data == nullptr || rest > 0 ? Find(data, rest) : FindEnd(data);
  }
  // The number of elements from `data` to the end of its allocation.
  template <typename T>
  size_t Rest(const T* data) const {
    const auto span = memory_->Find(data);
    return span ? span->rest_bytes / sizeof(T) : 0;
  }
  // Scratch memory of at least this size, with undefined content. The queue fails if the device is
  // out of memory.
  Place ScratchFor(Scratch which, size_t size_bytes);
  size_t ScratchBytes(Scratch which) const;

  // To be called for every enqueued command, with its name for errors. Drivers report commands that
  // fail later through their events.
  void Enqueued(const char* what, cl_int code, cl_event event);

  // Copies in the order of calls.
  int CopyIn(void* to, const void* from, size_t size_bytes) {
    return CopyIn(MOTLEY_DRIVER_NOW, to, from, size_bytes);
  }
  int CopyOut(void* to, const void* from, size_t size_bytes);
  // See motley_driver.
  uint64_t Mark();
  int CopyIn(uint64_t after, void* to, const void* from, size_t size_bytes);
  int CopyOut(uint64_t after, const void* from, size_t size_bytes, motley_take_piece take,
              void* context);
  // Waits, returns the first failure, and clears it.
  int Finish(std::string& error);

 private:
  static constexpr size_t kMarks = 64;

  struct Command {
    const char* what;
    Event event;
  };
  struct Room {
    void* pointer = nullptr;
    size_t size_bytes = 0;
  };

  Queue() = default;
  Status Start(const FoundDevice& device);
  Status Compile(const std::string& cache_folder);
  Place FindBytes(const void* data, size_t count, size_t element_bytes);
  // The place of an allocation's end. The queue fails if no allocation ends there.
  Place FindEnd(const void* data);
  // Checks how the oldest `count` commands, which have run, ended.
  void Collect(size_t count);
  // Fails the queue if the command failed.
  void CheckEnd(const char* what, cl_event event);
  // The command queue of a copy, and the event that it waits for, or null.
  struct Turn {
    cl_command_queue commands;
    cl_event after;
    cl_uint count() const { return after == nullptr ? 0 : 1; }
    const cl_event* events() const { return after == nullptr ? nullptr : &after; }
  };
  Turn TurnAfter(uint64_t moment);
  // Reads into staging_[i % 2].
  Event ReadPiece(const Turn& turn, const Place& from, size_t i, size_t size_bytes);

  FoundDevice device_;
  Context context_;
  Commands commands_;
  Commands copies_;  // For copies that do not wait for all kernels.
  std::array<Event, kMarks> marks_;
  uint64_t marked_ = 0;  // The last mark is marks_[marked_ % kMarks].
  Bytes staging_[2];     // For copies to the host.
  std::unique_ptr<Memory> memory_;
  Program program_;
  std::vector<Kernel> kernels_;
  size_t group_items_ = 1;
  Room scratch_[static_cast<size_t>(Scratch::kCount)];
  std::vector<Command> running_;  // At most kMostRunning, oldest first.
  cl_int failure_ = CL_SUCCESS;
  std::string failed_;  // The failed command, if failure_ is not CL_SUCCESS.
};

inline Queue& QueueOf(void* queue) { return *static_cast<Queue*>(queue); }

}  // namespace motley::opencl
