// SPDX-License-Identifier: Apache-2.0
// An open device: its in-order command queue, memory, compiled kernels and scratch memory, and what
// failed first. One thread at a time, except memory().
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

// An operand: elements of a buffer from `first` on.
struct Place {
  cl_mem buffer = nullptr;
  cl_ulong first = 0;
};

// Memory that stays with the queue between calls; each grows to what was asked for most.
enum class Scratch { kSums, kEntries, kProduct, kCount };

class Queue {
 public:
  // `cache_folder` is where compiled programs are kept; empty for nowhere.
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
  // Floats of a processor's register; 0 on others, which have no kernels kPackPanels and on.
  size_t lanes() const { return device_.is_processor ? device_.lanes : 0; }

  // Only the first failure is kept; nothing more is enqueued until Finish has told it.
  bool failed() const { return failure_ != CL_SUCCESS; }
  void Fail(cl_int code, std::string what);
  // MOTLEY_DRIVER_*, of what failed first so far.
  int code() const;

  // `count` elements at `data`; the queue has failed when they lie in no allocation.
  template <typename T>
  Place Find(const T* data, size_t count) {
    return FindBytes(data, count, sizeof(T));
  }
  // The same for as many elements as there are from `data` on; null for null.
  template <typename T>
  Place FindRest(const T* data) {
    const size_t rest = Rest(data);
    return data == nullptr || rest > 0 ? Find(data, rest) : FindEnd(data);
  }
  // How many elements there are from `data` to the end of its allocation.
  template <typename T>
  size_t Rest(const T* data) const {
    const auto span = memory_->Find(data);
    return span ? span->rest_bytes / sizeof(T) : 0;
  }
  // At least that much, with nobody's values. The queue has failed when the device has no room.
  Place ScratchFor(Scratch which, size_t size_bytes);
  size_t ScratchBytes(Scratch which) const;

  // Every enqueued command passes here, with what it is called in errors: drivers tell of commands
  // that failed later in their events.
  void Enqueued(const char* what, cl_int code, cl_event event);

  // In the order called.
  int CopyIn(void* to, const void* from, size_t size_bytes) {
    return CopyIn(MOTLEY_DRIVER_NOW, to, from, size_bytes);
  }
  int CopyOut(void* to, const void* from, size_t size_bytes);
  // As motley_driver's.
  uint64_t Mark();
  int CopyIn(uint64_t after, void* to, const void* from, size_t size_bytes);
  int CopyOut(uint64_t after, const void* from, size_t size_bytes, motley_take_piece take,
              void* context);
  // Waits, and forgets the failure it returns.
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
  // Where an allocation ends; the queue has failed when none ends there.
  Place FindEnd(const void* data);
  // Asks the oldest `count` commands, which have run, how they ended.
  void Collect(size_t count);
  // The queue has failed when the command has.
  void CheckEnd(const char* what, cl_event event);
  // Where a copy goes and what it waits for: an event, or null.
  struct Turn {
    cl_command_queue commands;
    cl_event after;
    cl_uint count() const { return after == nullptr ? 0 : 1; }
    const cl_event* events() const { return after == nullptr ? nullptr : &after; }
  };
  Turn TurnAfter(uint64_t moment);
  // Into staging_[i % 2].
  Event ReadPiece(const Turn& turn, const Place& from, size_t i, size_t size_bytes);

  FoundDevice device_;
  Context context_;
  Commands commands_;
  Commands copies_;  // Of copies that do not wait for all kernels.
  std::array<Event, kMarks> marks_;
  uint64_t marked_ = 0;  // The last moment, in marks_[marked_ % kMarks].
  Bytes staging_[2];     // Of what is copied out.
  std::unique_ptr<Memory> memory_;
  Program program_;
  std::vector<Kernel> kernels_;
  size_t group_items_ = 1;
  Room scratch_[static_cast<size_t>(Scratch::kCount)];
  std::vector<Command> running_;  // At most kMostRunning, oldest first.
  cl_int failure_ = CL_SUCCESS;
  std::string failed_;  // What, when failure_ is not CL_SUCCESS.
};

inline Queue& QueueOf(void* queue) { return *static_cast<Queue*>(queue); }

}  // namespace motley::opencl
