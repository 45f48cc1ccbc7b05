// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/contexts.h"

#include <cuda_runtime_api.h>

namespace motley::cuda {
namespace {

// A function of libcuda, which only the runtime has loaded; null if it does not exist.
void* Function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  constexpr unsigned kSince = 4000;  // The first CUDA version with these signatures.
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, kSince, cudaEnableDefault, &result);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &result);
#endif
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess ? function : nullptr;
}

}  // namespace

void* CurrentContext() {
  static const auto get = reinterpret_cast<int (*)(void**)>(Function("cuCtxGetCurrent"));
  void* context = nullptr;
  if (get == nullptr || get(&context) != 0) return nullptr;
  return context;
}

void SetCurrentContext(void* context) {
  static const auto set = reinterpret_cast<int (*)(void*)>(Function("cuCtxSetCurrent"));
  if (set != nullptr) set(context);
}

}  // namespace motley::cuda
