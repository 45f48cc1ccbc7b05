// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "devices/drivers/driver.h"
#include "devices/opencl/cl_errors.h"

namespace motley::opencl {
namespace {

constexpr size_t kMostRunning = 256;

std::string_view NameOf(Scratch which) {
  switch (which) {
    case Scratch::kSums: return "partial sums";
    case Scratch::kEntries: return "entries of a sparse matrix by column";
    default: return "a product of matrices";
  }
}

Result<Commands> MakeCommands(cl_context context, const FoundDevice& device) {
  cl_int code = CL_SUCCESS;
  Commands commands(clCreateCommandQueue(context, device.id, 0, &code));
  if (code == CL_SUCCESS) return commands;
  return Status::Unavailable(
      fmt::format("its driver cannot make a command queue: {}", ErrorName(code)));
}

}  // namespace

Result<std::unique_ptr<Queue>> Queue::Open(const FoundDevice& device,
                                           const std::string& cache_folder) {
  std::unique_ptr<Queue> queue(new Queue);
  Status status = queue->Start(device);
  if (status.ok()) status = queue->Compile(cache_folder);
  if (!status.ok()) return status;
  return queue;
}

Status Queue::Start(const FoundDevice& device) {
  device_ = device;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(device.platform), 0};
  cl_int code = CL_SUCCESS;
  context_.reset(clCreateContext(properties, 1, &device.id, nullptr, nullptr, &code));
  if (code != CL_SUCCESS) {
    return Status::Unavailable(
        fmt::format("its driver cannot make a context: {}", ErrorName(code)));
  }
  MOTLEY_ASSIGN_OR_RETURN(commands_, MakeCommands(context_.get(), device));
  MOTLEY_ASSIGN_OR_RETURN(copies_, MakeCommands(context_.get(), device));
  MOTLEY_ASSIGN_OR_RETURN(Commands touching, MakeCommands(context_.get(), device));
  memory_ = std::make_unique<Memory>(device, context_.get(), std::move(touching));
  running_.reserve(kMostRunning);
  return Status::Ok();
}

Queue::~Queue() {
  std::string ignored;
  Finish(ignored);
}

void Queue::Fail(cl_int code, std::string what) {
  if (failed()) return;
  failure_ = code;
  failed_ = std::move(what);
}

int Queue::code() const { return DriverCode(failure_); }

Place Queue::FindBytes(const void* data, size_t count, size_t element_bytes) {
  if (count == 0 || failed()) return {};
  const auto span = memory_->Find(data);
  if (!span || span->rest_bytes / element_bytes < count ||
      span->offset_bytes % element_bytes != 0) {
    Fail(CL_INVALID_MEM_OBJECT, fmt::format("{} elements of {} bytes at {} are not in one "
                                            "allocation of this device",
                                            count, element_bytes, data));
    return {};
  }
  return {span->buffer, span->offset_bytes / element_bytes};
}

Place Queue::FindEnd(const void* data) {
  if (failed()) return {};
  const auto span = memory_->Find(data);
  if (span) return {span->buffer, 0};
  Fail(CL_INVALID_MEM_OBJECT, fmt::format("{} is not in an allocation of this device", data));
  return {};
}

Place Queue::ScratchFor(Scratch which, size_t size_bytes) {
  Room& room = scratch_[static_cast<size_t>(which)];
  if (room.size_bytes < size_bytes && !failed()) {
    // Allocates half as much again, so that slowly growing sizes do not allocate each time.
    for (const size_t size : {size_bytes + size_bytes / 2, size_bytes}) {
      memory_->Free(std::exchange(room, {}).pointer);
      if (void* pointer = memory_->Allocate(size)) {
        room = {pointer, size};
        break;
      }
    }
  }
  if (room.pointer == nullptr || room.size_bytes < size_bytes) {
    Fail(CL_MEM_OBJECT_ALLOCATION_FAILURE,
         fmt::format("{} bytes for {}", size_bytes, NameOf(which)));
  }
  return FindBytes(room.pointer, size_bytes, 1);
}

size_t Queue::ScratchBytes(Scratch which) const {
  return scratch_[static_cast<size_t>(which)].size_bytes;
}

void Queue::Enqueued(const char* what, cl_int code, cl_event raw) {
  Event event(raw);
  if (code != CL_SUCCESS) return Fail(code, what);
  if (event == nullptr) return;
  if (running_.size() == kMostRunning) {
    const cl_event last = running_[kMostRunning / 2 - 1].event.get();
    clWaitForEvents(1, &last);
    Collect(kMostRunning / 2);
  }
  running_.push_back({what, std::move(event)});
}

void Queue::CheckEnd(const char* what, cl_event event) {
  cl_int status = CL_COMPLETE;
  const cl_int code =
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr);
  if (code != CL_SUCCESS) Fail(code, what);
  if (status < 0) Fail(status, what);
}

void Queue::Collect(size_t count) {
  for (size_t i = 0; i < count; ++i) CheckEnd(running_[i].what, running_[i].event.get());
  running_.erase(running_.begin(), running_.begin() + static_cast<ptrdiff_t>(count));
}

int Queue::Finish(std::string& error) {
  if (commands_ == nullptr) return MOTLEY_DRIVER_OK;
  const cl_int result = clFinish(commands_.get());
  // The commands themselves know best which of them failed.
  Collect(running_.size());
  if (result != CL_SUCCESS) Fail(result, "waiting for the device");
  if (!failed()) return MOTLEY_DRIVER_OK;
  error = fmt::format("{}: {}", failed_, ErrorName(failure_));
  return DriverCode(std::exchange(failure_, CL_SUCCESS));
}

}  // namespace motley::opencl
