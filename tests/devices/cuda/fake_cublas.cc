// SPDX-License-Identifier: Apache-2.0
// cuBLAS for the fake CUDA (fake_cuda.h): its products are loops that wait on the stream.
#include <gtest/gtest.h>

#include <cstdio>
#include <mutex>

#include "devices/cuda/cublas.h"
#include "tests/devices/cuda/column_major.h"
#include "tests/devices/cuda/fake_cuda.h"

namespace motley::cuda {
namespace {

using conformance::FakeCuda;

struct FakeHandle {
  int device;
  cudaStream_t stream;
};

FakeHandle* Of(cublasHandle_t handle) { return reinterpret_cast<FakeHandle*>(handle); }

cublasStatus_t Create(cublasHandle_t* handle) {
  *handle =
      reinterpret_cast<cublasHandle_t>(new FakeHandle{FakeCuda::Get().CurrentDevice(), nullptr});
  FakeCuda::Get().Make();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Destroy(cublasHandle_t handle) {
  delete Of(handle);
  --FakeCuda::Get().alive;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t SgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_side,
                                   cublasOperation_t b_side, int64_t m, int64_t n, int64_t k,
                                   const float* alpha, const float* a, int64_t a_stride,
                                   long long a_step, const float* b, int64_t b_stride,
                                   long long b_step, const float* beta, float* c, int64_t c_stride,
                                   long long c_step, int64_t count) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  if (fake.cublas_status != CUBLAS_STATUS_SUCCESS) {
    return static_cast<cublasStatus_t>(fake.cublas_status);
  }
  const auto size = [](int64_t value) { return static_cast<size_t>(value); };
  ColumnMajorProduct product{};
  product.transpose_a = a_side == CUBLAS_OP_T;
  product.transpose_b = b_side == CUBLAS_OP_T;
  product.m = size(m);
  product.n = size(n);
  product.k = size(k);
  product.alpha = *alpha;
  product.a = a;
  product.a_stride = size(a_stride);
  product.a_step = size(a_step);
  product.b = b;
  product.b_stride = size(b_stride);
  product.b_step = size(b_step);
  product.beta = *beta;
  product.c = c;
  product.c_stride = size(c_stride);
  product.c_step = size(c_step);
  product.count = size(count);
  fake.Add(Of(handle)->stream, [product] { conformance::MultiplyColumnMajor(product); });
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Sgemm(cublasHandle_t handle, cublasOperation_t a_side, cublasOperation_t b_side,
                     int64_t m, int64_t n, int64_t k, const float* alpha, const float* a,
                     int64_t a_stride, const float* b, int64_t b_stride, const float* beta,
                     float* c, int64_t c_stride) {
  return SgemmStridedBatched(handle, a_side, b_side, m, n, k, alpha, a, a_stride, 0, b, b_stride, 0,
                             beta, c, c_stride, 0, 1);
}

}  // namespace

bool FindCublas(char* reason, size_t reason_size) {
  if (FakeCuda::Get().has_cublas) return true;
  std::snprintf(reason, reason_size, "cuBLAS cannot be loaded: as planned");
  return false;
}

const Cublas* LoadCublas(char* reason, size_t reason_size) {
  ++FakeCuda::Get().loaded;
  static const Cublas cublas = {
      .create = Create,
      .destroy = Destroy,
      .set_stream =
          [](cublasHandle_t handle, cudaStream_t stream) {
            Of(handle)->stream = stream;
            return CUBLAS_STATUS_SUCCESS;
          },
      // Must follow set_stream, which would reset it.
      .set_workspace =
          [](cublasHandle_t handle, void* memory, size_t) {
            EXPECT_NE(Of(handle)->stream, nullptr);
            EXPECT_EQ(FakeCuda::Get().DeviceOf(memory), Of(handle)->device);
            return CUBLAS_STATUS_SUCCESS;
          },
      .set_math_mode =
          [](cublasHandle_t, cublasMath_t mode) {
            EXPECT_EQ(mode, CUBLAS_DEFAULT_MATH);
            return CUBLAS_STATUS_SUCCESS;
          },
      .sgemm = Sgemm,
      .sgemm_strided_batched = SgemmStridedBatched,
      .status_name = [](cublasStatus_t) { return "CUBLAS_STATUS"; },
      .status_string = [](cublasStatus_t) { return "as planned"; },
  };
  if (FakeCuda::Get().has_cublas) return &cublas;
  std::snprintf(reason, reason_size, "cuBLAS cannot be loaded: as planned");
  return nullptr;
}

}  // namespace motley::cuda
