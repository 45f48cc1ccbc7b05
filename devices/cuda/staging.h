// SPDX-License-Identifier: Apache-2.0
// Copies between host and device through pinned pieces, on a stream of their own. The device
// fetches a piece while the host fills the next, kernels run meanwhile, and any host memory will
// do.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "devices/cuda/failure.h"
#include "devices/drivers/driver.h"

namespace motley::cuda {

// Waits for a recorded event. Polls for a moment and then sleeps, to leave the core to others.
cudaError_t WaitFor(cudaEvent_t event);

// One thread at a time, on the stream's device. Marks are motley_driver's.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  ~Staging() { Close(); }

  // `stream` is the kernels' stream.
  bool Open(cudaStream_t stream, Failure& failure);
  // Waits for copies. To be called before the kernels' stream is destroyed.
  void Close();

  uint64_t Mark(Failure& failure);
  // `from` may change when it returns. After a failure no copy is running any more, because nobody
  // would wait for it before the memory is reused.
  bool CopyIn(uint64_t after, void* to, const void* from, size_t size_bytes, Failure& failure);
  // `take` has received all bytes when it returns. After a failure no copy is running any more,
  // because the next copy uses the same pinned pieces.
  bool CopyOut(uint64_t after, const void* from, size_t size_bytes, motley_take_piece take,
               void* context, Failure& failure);
  // Waits for everything on the kernels' stream.
  bool Wait(Failure& failure);

 private:
  static constexpr size_t kPieces = 3;
  static constexpr size_t kPieceBytes = size_t{2} << 20;
  static constexpr size_t kMarks = 64;

  struct Piece {
    void* memory = nullptr;      // Pinned.
    cudaEvent_t used = nullptr;  // Recorded after the last copy to or from it.
  };

  bool MakeEvent(cudaEvent_t& event, Failure& failure) const;
  bool Record(const char* doing, cudaEvent_t event, cudaStream_t stream, Failure& failure) const;
  bool RecordMark(const char* doing, Failure& failure);
  bool CopyInPieces(void* to, const void* from, size_t size_bytes, Failure& failure);
  bool CopyOutPieces(const void* from, size_t size_bytes, motley_take_piece take, void* context,
                     Failure& failure);
  // Makes copies wait for that point.
  bool After(uint64_t moment, const char* doing, Failure& failure);

  cudaStream_t stream_ = nullptr;
  cudaStream_t copies_ = nullptr;
  Piece pieces_[kPieces];
  size_t next_ = 0;  // The next of pieces_, in rotation.
  cudaEvent_t marks_[kMarks] = {};
  uint64_t marked_ = 0;  // The last mark is marks_[marked_ % kMarks].
  cudaEvent_t finished_ = nullptr;
};

}  // namespace motley::cuda
