// SPDX-License-Identifier: Apache-2.0
// Copies between host and device through pinned pieces: the device fetches a piece while the host
// fills the next, and the host's own memory may be any.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "devices/cuda/failure.h"

namespace motley::cuda {

// Waits for what was recorded. Looks for a moment, then sleeps: the core belongs to others.
cudaError_t WaitFor(cudaEvent_t event);

// One thread at a time, on the stream's device.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  // The stream's copies have ended.
  ~Staging();

  bool Open(cudaStream_t stream, Failure& failure);
  // `from` may change when it returns.
  bool CopyIn(void* to, const void* from, size_t size_bytes, Failure& failure);
  // The bytes are there when it returns.
  bool CopyOut(void* to, const void* from, size_t size_bytes, Failure& failure);
  // Waits for everything on the stream.
  bool Wait(Failure& failure);

 private:
  static constexpr size_t kPieces = 3;
  static constexpr size_t kPieceBytes = size_t{2} << 20;

  struct Piece {
    void* memory = nullptr;      // Pinned.
    cudaEvent_t used = nullptr;  // After the last copy to or from it.
  };

  cudaStream_t stream_ = nullptr;
  Piece pieces_[kPieces];
  size_t next_ = 0;  // Of pieces_, in turn.
};

}  // namespace motley::cuda
