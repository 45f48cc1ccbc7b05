// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/cublas.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <iterator>
#include <new>

namespace motley::cuda {
namespace {

#define MOTLEY_TEXT_OF(value) #value
#define MOTLEY_TEXT(value) MOTLEY_TEXT_OF(value)
constexpr char kFile[] = "libcublas.so." MOTLEY_TEXT(CUBLAS_VER_MAJOR);

// Null when all are there, else the name of one that is missing.
const char* FindFunctions(void* library, Cublas& cublas) {
  const struct {
    const char* name;
    void** to;
  } functions[] = {
      {"cublasCreate_v2", reinterpret_cast<void**>(&cublas.create)},
      {"cublasDestroy_v2", reinterpret_cast<void**>(&cublas.destroy)},
      {"cublasSetStream_v2", reinterpret_cast<void**>(&cublas.set_stream)},
      {"cublasSetWorkspace_v2", reinterpret_cast<void**>(&cublas.set_workspace)},
      {"cublasSetMathMode", reinterpret_cast<void**>(&cublas.set_math_mode)},
      {"cublasSgemm_v2_64", reinterpret_cast<void**>(&cublas.sgemm)},
      {"cublasGetStatusName", reinterpret_cast<void**>(&cublas.status_name)},
      {"cublasGetStatusString", reinterpret_cast<void**>(&cublas.status_string)},
  };
  static_assert(std::size(functions) * sizeof(void*) == sizeof(Cublas));
  for (const auto& function : functions) {
    *function.to = dlsym(library, function.name);
    if (*function.to == nullptr) return function.name;
  }
  return nullptr;
}

}  // namespace

const Cublas* LoadCublas(char* reason, size_t reason_size) {
  static std::atomic<const Cublas*> loaded = nullptr;
  if (const Cublas* cublas = loaded.load(); cublas != nullptr) return cublas;
  void* library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::snprintf(reason, reason_size,
                  "cuBLAS cannot be loaded (install it, or name its folder in LD_LIBRARY_PATH): %s",
                  dlerror());
    return nullptr;
  }
  Cublas found{};
  if (const char* missing = FindFunctions(library, found); missing != nullptr) {
    std::snprintf(reason, reason_size, "%s has no %s: install cuBLAS %d.%d or newer", kFile,
                  missing, CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR);
    dlclose(library);
    return nullptr;
  }
  // For as long as the program runs, as the library.
  const Cublas* mine = new (std::nothrow) Cublas(found);
  const Cublas* before = nullptr;
  if (loaded.compare_exchange_strong(before, mine)) return mine;
  delete mine;
  return before;
}

}  // namespace motley::cuda
