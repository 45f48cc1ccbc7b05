// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "devices/cuda/cuda_errors.h"

namespace motley::cuda {

cudaError_t WaitFor(cudaEvent_t event) {
  constexpr int kLooks = 100;
  for (int look = 0; look < kLooks; ++look) {
    const cudaError_t state = cudaEventQuery(event);
    if (state != cudaErrorNotReady) return state;
    cudaGetLastError();  // It counts as an error all the same.
  }
  return cudaEventSynchronize(event);
}

Staging::~Staging() {
  for (const Piece& piece : pieces_) {
    if (piece.used != nullptr) cudaEventDestroy(piece.used);
    if (piece.memory != nullptr) cudaFreeHost(piece.memory);
  }
}

bool Staging::Open(cudaStream_t stream, Failure& failure) {
  stream_ = stream;
  for (Piece& piece : pieces_) {
    if (!Check(failure, "pinning host memory",
               cudaHostAlloc(&piece.memory, kPieceBytes, cudaHostAllocDefault)) ||
        !Check(failure, "making an event",
               cudaEventCreateWithFlags(&piece.used,
                                        cudaEventDisableTiming | cudaEventBlockingSync)) ||
        !Check(failure, "recording an event", cudaEventRecord(piece.used, stream_))) {
      return false;
    }
  }
  return true;
}

bool Staging::CopyIn(void* to, const void* from, size_t size_bytes, Failure& failure) {
  for (size_t done = 0; done < size_bytes;) {
    const size_t length = std::min(kPieceBytes, size_bytes - done);
    const Piece& piece = pieces_[next_++ % kPieces];
    if (!Check(failure, "copy_in", WaitFor(piece.used))) return false;
    std::memcpy(piece.memory, static_cast<const char*>(from) + done, length);
    if (!Check(failure, "copy_in",
               cudaMemcpyAsync(static_cast<char*>(to) + done, piece.memory, length,
                               cudaMemcpyHostToDevice, stream_)) ||
        !Check(failure, "copy_in", cudaEventRecord(piece.used, stream_))) {
      return false;
    }
    done += length;
  }
  return true;
}

bool Staging::CopyOut(void* to, const void* from, size_t size_bytes, Failure& failure) {
  if (size_bytes == 0) return Wait(failure);
  // Pieces of a copy_in may still be on their way; the stream runs in order, so nothing overtakes.
  const size_t first = next_;
  const size_t count = size_bytes / kPieceBytes + (size_bytes % kPieceBytes != 0 ? 1 : 0);
  const auto length = [&](size_t i) { return std::min(kPieceBytes, size_bytes - i * kPieceBytes); };
  for (size_t asked = 0, fetched = 0; fetched < count;) {
    if (asked < count && asked < fetched + kPieces) {
      const Piece& piece = pieces_[(first + asked) % kPieces];
      const char* source = static_cast<const char*>(from) + asked * kPieceBytes;
      if (!Check(failure, "copy_out",
                 cudaMemcpyAsync(piece.memory, source, length(asked), cudaMemcpyDeviceToHost,
                                 stream_)) ||
          !Check(failure, "copy_out", cudaEventRecord(piece.used, stream_))) {
        return false;
      }
      ++asked;
      continue;
    }
    const Piece& piece = pieces_[(first + fetched) % kPieces];
    if (!Check(failure, "copy_out", WaitFor(piece.used))) return false;
    std::memcpy(static_cast<char*>(to) + fetched * kPieceBytes, piece.memory, length(fetched));
    ++fetched;
  }
  next_ = first + count;
  return true;
}

bool Staging::Wait(Failure& failure) {
  const Piece& piece = pieces_[next_++ % kPieces];
  return Check(failure, "finish", cudaEventRecord(piece.used, stream_)) &&
         Check(failure, "finish", WaitFor(piece.used));
}

}  // namespace motley::cuda
