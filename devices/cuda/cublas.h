// SPDX-License-Identifier: Apache-2.0
// cuBLAS, NVIDIA's library of matrix products. It takes half a gigabyte and is only loaded if there
// is a device, so that programs also start on machines without it.
#pragma once

#include <cublas_v2.h>

#include <cstddef>

namespace motley::cuda {

// The functions of the library that we use.
struct Cublas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasSetMathMode) set_math_mode;
  decltype(&cublasSgemm_v2_64) sgemm;
  decltype(&cublasSgemmStridedBatched_64) sgemm_strided_batched;
  decltype(&cublasGetStatusName) status_name;
  decltype(&cublasGetStatusString) status_string;
};

// Any thread. Returns true if cuBLAS exists, otherwise sets `reason`. It only looks for the file:
// loading it would take hundreds of megabytes of addresses, too much for a list of devices.
bool FindCublas(char* reason, size_t reason_size);
// Loads cuBLAS. Returns null and sets `reason` on failure; each call tries again until it is
// loaded.
const Cublas* LoadCublas(char* reason, size_t reason_size);

}  // namespace motley::cuda
