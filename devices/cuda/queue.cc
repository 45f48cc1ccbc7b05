// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/queue.h"

#include "devices/cuda/cuda_errors.h"
#include "devices/cuda/operations.h"

namespace motley::cuda {
namespace {

constexpr unsigned kMostBlocks = 4096;
// The size that NVIDIA recommends from Hopper on; older devices use less of it.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;
// 64 MiB: seven slices of a product of 1024 x 2048.
constexpr size_t kSliceRoom = size_t{1} << 24;

// True if a call succeeded. Otherwise the failure is kept.
bool CheckCublas(const Cublas& cublas, Failure& failure, const char* doing, cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return true;
  const int code =
      status == CUBLAS_STATUS_ALLOC_FAILED ? MOTLEY_DRIVER_NO_MEMORY : MOTLEY_DRIVER_LOST;
  failure.Keep(code, doing, cublas.status_name(status), cublas.status_string(status));
  return false;
}

}  // namespace

// On a lost device all of this fails, and there is nothing left to free.
Queue::~Queue() {
  const OnDevice here(device);
  if (own_stream_ != nullptr) cudaStreamSynchronize(own_stream_);
  staging_.Close();
  if (handle_ != nullptr) cublas_->destroy(handle_);
  cudaFree(workspace_);
  cudaFree(slices);
  cudaFree(partials);
  if (own_stream_ != nullptr) cudaStreamDestroy(own_stream_);
  cudaGetLastError();
}

bool Queue::Open() {
  const OnDevice here(device);
  if (!here.Check(failure)) return false;
  // This stream does not wait for work of the program on the default stream.
  if (!Check(failure, "making a stream",
             cudaStreamCreateWithFlags(&own_stream_, cudaStreamNonBlocking))) {
    return false;
  }
  stream = own_stream_;
  most_blocks = kMostBlocks;
  slice_room = kSliceRoom;
  multiply = &Queue::Multiply;
  return memory_.Open(device, own_stream_, failure) && staging_.Open(own_stream_, failure) &&
         Check(failure, "allocating room for sums",
               cudaMalloc(reinterpret_cast<void**>(&partials), kPartials * sizeof(double))) &&
         Check(failure, "allocating room for products",
               cudaMalloc(reinterpret_cast<void**>(&slices), kSliceRoom * sizeof(float))) &&
         OpenCublas() && TryOut();
}

// With a workspace of our own, cuBLAS allocates nothing later and gives the same bits every time.
bool Queue::OpenCublas() {
  char reason[256] = "";
  cublas_ = LoadCublas(reason, sizeof(reason));
  if (cublas_ == nullptr) {
    failure.Keep(MOTLEY_DRIVER_LOST, "loading cuBLAS", "dlopen", reason);
    return false;
  }
  const Cublas& cublas = *cublas_;
  return Check(failure, "allocating cuBLAS's workspace",
               cudaMalloc(&workspace_, kWorkspaceBytes)) &&
         CheckCublas(cublas, failure, "starting cuBLAS", cublas.create(&handle_)) &&
         CheckCublas(cublas, failure, "setting up cuBLAS",
                     cublas.set_stream(handle_, own_stream_)) &&
         CheckCublas(cublas, failure, "setting up cuBLAS",
                     cublas.set_workspace(handle_, workspace_, kWorkspaceBytes)) &&
         // Float32 throughout: tensor cores would round factors to 10 bits.
         CheckCublas(cublas, failure, "setting up cuBLAS",
                     cublas.set_math_mode(handle_, CUBLAS_DEFAULT_MATH));
}

bool Queue::TryOut() {
  auto* values = reinterpret_cast<float*>(partials);
  Fill(this, 3, 1, values);
  Gemm(this, 0, 0, 1, 1, 1, 1, values, values + 1, 0, values + 2);
  return !failure.failed() && staging_.Wait(failure);
}

void Queue::Multiply(motley_driver_queue& queue, const ColumnMajorProduct& product) {
  auto& self = static_cast<Queue&>(queue);
  const auto side = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto size = [](size_t value) { return static_cast<int64_t>(value); };
  const OnDevice here(self.device, /*stays=*/true);
  if (!here.Check(self.failure)) return;
  const auto& p = product;
  const cublasStatus_t status =
      p.count == 1
          ? self.cublas_->sgemm(self.handle_, side(p.transpose_a), side(p.transpose_b), size(p.m),
                                size(p.n), size(p.k), &p.alpha, p.a, size(p.a_stride), p.b,
                                size(p.b_stride), &p.beta, p.c, size(p.c_stride))
          : self.cublas_->sgemm_strided_batched(
                self.handle_, side(p.transpose_a), side(p.transpose_b), size(p.m), size(p.n),
                size(p.k), &p.alpha, p.a, size(p.a_stride), size(p.a_step), p.b, size(p.b_stride),
                size(p.b_step), &p.beta, p.c, size(p.c_stride), size(p.c_step), size(p.count));
  CheckCublas(*self.cublas_, self.failure, "gemm", status);
}

uint64_t Queue::Mark() {
  const OnDevice here(device, /*stays=*/true);
  here.Check(failure);
  return staging_.Mark(failure);
}

int Queue::CopyIn(uint64_t after, void* to, const void* from, size_t size_bytes) {
  const OnDevice here(device, /*stays=*/true);
  if (!failure.failed() && here.Check(failure))
    staging_.CopyIn(after, to, from, size_bytes, failure);
  return failure.code();
}

int Queue::CopyOut(uint64_t after, const void* from, size_t size_bytes, motley_take_piece take,
                   void* context) {
  const OnDevice here(device, /*stays=*/true);
  if (!failure.failed() && here.Check(failure)) {
    staging_.CopyOut(after, from, size_bytes, take, context, failure);
  }
  return failure.code();
}

int Queue::Finish(char* error, size_t error_size) {
  const OnDevice here(device, /*stays=*/true);
  if (here.Check(failure)) staging_.Wait(failure);
  return failure.Report(error, error_size);
}

}  // namespace motley::cuda
