// SPDX-License-Identifier: Apache-2.0
// The marks of a queue, and its copies, which may run while kernels run.
#include <algorithm>
#include <cstring>
#include <utility>

#include "devices/opencl/queue.h"

namespace motley::opencl {
namespace {

constexpr size_t kPieceBytes = size_t{2} << 20;
constexpr const char* kIn = "copy to the device";
constexpr const char* kOut = "copy from the device";

}  // namespace

uint64_t Queue::Mark() {
  ++marked_;
  cl_event event = nullptr;
  cl_int code = clEnqueueMarkerWithWaitList(commands_.get(), 0, nullptr, &event);
  marks_[marked_ % kMarks].reset(event);
  // Flush: other queues may wait for the mark, and kernels can start while the host does other
  // work.
  if (code == CL_SUCCESS) code = clFlush(commands_.get());
  if (code != CL_SUCCESS) Fail(code, "mark");
  return marked_;
}

Queue::Turn Queue::TurnAfter(uint64_t moment) {
  if (moment == MOTLEY_DRIVER_NOW) return {commands_.get(), nullptr};
  const uint64_t oldest = marked_ < kMarks ? 0 : marked_ - kMarks + 1;
  return {copies_.get(), marks_[std::max(moment, oldest) % kMarks].get()};
}

int Queue::CopyIn(uint64_t after, void* to, const void* from, size_t size_bytes) {
  const Place place = FindBytes(to, size_bytes, 1);
  if (failed() || size_bytes == 0) return code();
  const Turn turn = TurnAfter(after);
  cl_event raw = nullptr;
  const cl_int result = clEnqueueWriteBuffer(turn.commands, place.buffer, CL_TRUE, place.first,
                                             size_bytes, from, turn.count(), turn.events(), &raw);
  const Event event(raw);
  // Earlier failures come first.
  if (after == MOTLEY_DRIVER_NOW) Collect(running_.size());
  if (result != CL_SUCCESS) Fail(result, kIn);
  if (event != nullptr) CheckEnd(kIn, event.get());
  return code();
}

Event Queue::ReadPiece(const Turn& turn, const Place& from, size_t i, size_t size_bytes) {
  Bytes& staging = staging_[i % 2];
  const size_t length = std::min(kPieceBytes, size_bytes - i * kPieceBytes);
  if (staging.size() < length) staging.resize(length);
  cl_event raw = nullptr;
  const cl_int result =
      clEnqueueReadBuffer(turn.commands, from.buffer, CL_FALSE, from.first + i * kPieceBytes,
                          length, staging.data(), turn.count(), turn.events(), &raw);
  Event event(raw);
  if (result != CL_SUCCESS) Fail(result, kOut);
  if (result == CL_SUCCESS) clFlush(turn.commands);
  return event;
}

int Queue::CopyOut(void* to, const void* from, size_t size_bytes) {
  const auto take = [](void* context, size_t offset, const void* bytes, size_t size) {
    std::memcpy(static_cast<std::byte*>(context) + offset, bytes, size);
  };
  return CopyOut(MOTLEY_DRIVER_NOW, from, size_bytes, take, to);
}

int Queue::CopyOut(uint64_t after, const void* from, size_t size_bytes, motley_take_piece take,
                   void* context) {
  const Place place = FindBytes(from, size_bytes, 1);
  if (failed() || size_bytes == 0) return code();
  const Turn turn = TurnAfter(after);
  const size_t count = (size_bytes - 1) / kPieceBytes + 1;
  Event reads[2];
  for (size_t asked = 0, taken = 0; taken < asked || (asked < count && !failed());) {
    if (asked < count && asked < taken + 2 && !failed()) {
      reads[asked % 2] = ReadPiece(turn, place, asked, size_bytes);
      ++asked;
      continue;
    }
    const Event read = std::move(reads[taken % 2]);
    if (read != nullptr) {
      const cl_event raw = read.get();
      clWaitForEvents(1, &raw);
      CheckEnd(kOut, raw);
    }
    const size_t offset = taken * kPieceBytes;
    if (!failed()) {
      take(context, offset, staging_[taken % 2].data(), std::min(kPieceBytes, size_bytes - offset));
    }
    ++taken;
  }
  if (after == MOTLEY_DRIVER_NOW) Collect(running_.size());
  return code();
}

}  // namespace motley::opencl
