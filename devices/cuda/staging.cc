// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/staging.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "devices/cuda/cuda_errors.h"

namespace motley::cuda {

cudaError_t WaitFor(cudaEvent_t event) {
  constexpr int kLooks = 100;
  for (int look = 0; look < kLooks; ++look) {
    const cudaError_t state = cudaEventQuery(event);
    if (state != cudaErrorNotReady) return state;
    cudaGetLastError();  // cudaErrorNotReady also counts as an error.
  }
  return cudaEventSynchronize(event);
}

bool Staging::MakeEvent(cudaEvent_t& event, Failure& failure) const {
  return Check(failure, "making an event",
               cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync)) &&
         Record("recording an event", event, stream_, failure);
}

bool Staging::Record(const char* doing, cudaEvent_t event, cudaStream_t stream,
                     Failure& failure) const {
  return Check(failure, doing, cudaEventRecord(event, stream));
}

bool Staging::Open(cudaStream_t stream, Failure& failure) {
  stream_ = stream;
  if (!Check(failure, "making a stream",
             cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking)) ||
      !MakeEvent(finished_, failure)) {
    return false;
  }
  for (Piece& piece : pieces_) {
    if (!Check(failure, "pinning host memory",
               cudaHostAlloc(&piece.memory, kPieceBytes, cudaHostAllocDefault)) ||
        !MakeEvent(piece.used, failure)) {
      return false;
    }
  }
  return std::all_of(std::begin(marks_), std::end(marks_),
                     [&](cudaEvent_t& mark) { return MakeEvent(mark, failure); });
}

// On a lost device all of this fails, and there is nothing left to free.
void Staging::Close() {
  const auto destroy = [](cudaEvent_t& event) {
    if (event != nullptr) cudaEventDestroy(std::exchange(event, nullptr));
  };
  if (copies_ != nullptr) {
    cudaStreamSynchronize(copies_);
    cudaStreamDestroy(std::exchange(copies_, nullptr));
  }
  for (Piece& piece : pieces_) {
    destroy(piece.used);
    if (piece.memory != nullptr) cudaFreeHost(std::exchange(piece.memory, nullptr));
  }
  for (cudaEvent_t& mark : marks_) destroy(mark);
  destroy(finished_);
}

bool Staging::RecordMark(const char* doing, Failure& failure) {
  ++marked_;
  return Record(doing, marks_[marked_ % kMarks], stream_, failure);
}

uint64_t Staging::Mark(Failure& failure) {
  RecordMark("mark", failure);
  return marked_;
}

bool Staging::After(uint64_t moment, const char* doing, Failure& failure) {
  if (moment == MOTLEY_DRIVER_NOW) {
    if (!RecordMark(doing, failure)) return false;
    moment = marked_;
  }
  const uint64_t oldest = marked_ < kMarks ? 0 : marked_ - kMarks + 1;
  return Check(failure, doing,
               cudaStreamWaitEvent(copies_, marks_[std::max(moment, oldest) % kMarks], 0));
}

bool Staging::CopyIn(uint64_t after, void* to, const void* from, size_t size_bytes,
                     Failure& failure) {
  if (size_bytes == 0) return true;
  if (!After(after, "copy_in", failure)) return false;
  if (CopyInPieces(to, from, size_bytes, failure)) return true;
  if (cudaStreamSynchronize(copies_) != cudaSuccess) cudaGetLastError();
  return false;
}

bool Staging::CopyInPieces(void* to, const void* from, size_t size_bytes, Failure& failure) {
  const Piece* piece = nullptr;
  for (size_t done = 0; done < size_bytes; done += kPieceBytes) {
    const size_t length = std::min(kPieceBytes, size_bytes - done);
    piece = &pieces_[next_++ % kPieces];
    if (!Check(failure, "copy_in", WaitFor(piece->used))) return false;
    std::memcpy(piece->memory, static_cast<const char*>(from) + done, length);
    if (!Check(failure, "copy_in",
               cudaMemcpyAsync(static_cast<char*>(to) + done, piece->memory, length,
                               cudaMemcpyHostToDevice, copies_)) ||
        !Record("copy_in", piece->used, copies_, failure)) {
      return false;
    }
  }
  return Check(failure, "copy_in", cudaStreamWaitEvent(stream_, piece->used, 0));
}

bool Staging::CopyOut(uint64_t after, const void* from, size_t size_bytes, motley_take_piece take,
                      void* context, Failure& failure) {
  if (size_bytes == 0) return true;
  if (!After(after, "copy_out", failure)) return false;
  if (CopyOutPieces(from, size_bytes, take, context, failure)) return true;
  if (cudaStreamSynchronize(copies_) != cudaSuccess) cudaGetLastError();
  return false;
}

bool Staging::CopyOutPieces(const void* from, size_t size_bytes, motley_take_piece take,
                            void* context, Failure& failure) {
  // Pieces of a CopyIn may still be in use; the stream runs in order, so they are not overwritten
  // early.
  const size_t first = next_;
  const size_t count = (size_bytes - 1) / kPieceBytes + 1;
  const auto length = [&](size_t i) { return std::min(kPieceBytes, size_bytes - i * kPieceBytes); };
  next_ = first + count;
  for (size_t asked = 0, taken = 0; taken < count;) {
    if (asked < count && asked < taken + kPieces) {
      const Piece& piece = pieces_[(first + asked) % kPieces];
      const char* source = static_cast<const char*>(from) + asked * kPieceBytes;
      if (!Check(failure, "copy_out",
                 cudaMemcpyAsync(piece.memory, source, length(asked), cudaMemcpyDeviceToHost,
                                 copies_)) ||
          !Record("copy_out", piece.used, copies_, failure)) {
        return false;
      }
      ++asked;
      continue;
    }
    const Piece& piece = pieces_[(first + taken) % kPieces];
    if (!Check(failure, "copy_out", WaitFor(piece.used))) return false;
    take(context, taken * kPieceBytes, piece.memory, length(taken));
    ++taken;
  }
  return true;
}

bool Staging::Wait(Failure& failure) {
  return Record("finish", finished_, stream_, failure) &&
         Check(failure, "finish", WaitFor(finished_));
}

}  // namespace motley::cuda
