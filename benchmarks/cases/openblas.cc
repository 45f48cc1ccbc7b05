// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/openblas.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace motley {
namespace {

const char* BestCore() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

}  // namespace

Result<OpenBlas> OpenBlas::Load() {
  if (const char* core = BestCore(); core != nullptr) setenv("OPENBLAS_CORETYPE", core, 0);
  // Idle threads of OpenBLAS spin; with this setting they sleep after half a millisecond.
  setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status::NotFound("no libopenblas.so.0: apt-get install libopenblas0-pthread");
  }
  OpenBlas blas;
  blas.gemm_ = reinterpret_cast<Gemm>(dlsym(library, "cblas_sgemm"));
  blas.set_threads_ = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  const auto core = reinterpret_cast<const char* (*)()>(dlsym(library, "openblas_get_corename"));
  if (blas.gemm_ == nullptr || blas.set_threads_ == nullptr || core == nullptr) {
    return Status::NotFound(fmt::format("libopenblas.so.0 is not OpenBLAS: {}", dlerror()));
  }
  blas.core_ = core();
  return blas;
}

void OpenBlas::Multiply(const DenseProduct& p, const float* a, const float* b, float* c) const {
  constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
  const auto stride = [](size_t columns) { return static_cast<int>(columns); };
  gemm_(kRowMajor, p.transpose_a ? kTransposed : kPlain, p.transpose_b ? kTransposed : kPlain,
        static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), 1, a,
        stride(p.transpose_a ? p.m : p.k), b, stride(p.transpose_b ? p.k : p.n), p.beta, c,
        stride(p.n));
}

}  // namespace motley
