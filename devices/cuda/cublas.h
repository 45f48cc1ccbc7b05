// SPDX-License-Identifier: Apache-2.0
// NVIDIA's library of matrix products, loaded when a device is there: it takes half a gigabyte, and
// programs on machines without it must start all the same.
#pragma once

#include <cublas_v2.h>

#include <cstddef>

namespace motley::cuda {

// The functions of the library that are used.
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

// Any thread. Whether there is one, and why not. Where it lies is looked up and it is not loaded,
// because a list of devices should not cost what it takes: hundreds of megabytes of addresses.
bool FindCublas(char* reason, size_t reason_size);
// The same, loaded. Null, and why not; looks again until it is there.
const Cublas* LoadCublas(char* reason, size_t reason_size);

}  // namespace motley::cuda
