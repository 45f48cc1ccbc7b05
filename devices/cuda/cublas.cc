// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/cublas.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>

namespace motley::cuda {
namespace {

#define MOTLEY_TEXT_OF(value) #value
#define MOTLEY_TEXT(value) MOTLEY_TEXT_OF(value)
constexpr char kFile[] = "libcublas.so." MOTLEY_TEXT(CUBLAS_VER_MAJOR);
// A library that cuBLAS needs. The loader would search for it in cuBLAS's own path and the system's
// folders, but not in this plug-in's. So it is loaded first, and then found by its name.
constexpr char kNeededFile[] = "libcublasLt.so." MOTLEY_TEXT(CUBLAS_VER_MAJOR);

// Null when all functions exist, else the name of a missing one.
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
      {"cublasSgemmStridedBatched_64", reinterpret_cast<void**>(&cublas.sgemm_strided_batched)},
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

// True if cuBLAS is in a folder in which the loader searches libraries for this plug-in.
bool InAFolderOfTheLoaders() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&FindCublas), &self) == 0) return false;
  void* const plug_in = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (plug_in == nullptr) return false;
  Dl_serinfo size{};
  bool found = false;
  if (dlinfo(plug_in, RTLD_DI_SERINFOSIZE, &size) == 0) {
    if (void* const room = std::malloc(size.dls_size); room != nullptr) {
      auto* const folders = static_cast<Dl_serinfo*>(room);
      *folders = size;
      dlinfo(plug_in, RTLD_DI_SERINFOSIZE, folders);
      const bool listed = dlinfo(plug_in, RTLD_DI_SERINFO, folders) == 0;
      for (unsigned i = 0; listed && !found && i < folders->dls_cnt; ++i) {
        char path[4096];
        std::snprintf(path, sizeof(path), "%s/%s", folders->dls_serpath[i].dls_name, kFile);
        found = access(path, R_OK) == 0;
      }
      std::free(room);
    }
  }
  dlclose(plug_in);
  return found;
}

// The loader's cache contains the names of libraries as plain text, each followed by 0.
bool InTheLoadersCache() {
  std::FILE* const file = std::fopen("/etc/ld.so.cache", "rb");
  if (file == nullptr) return false;
  size_t matched = 0;  // Matched characters of the name, with its 0.
  for (int c = std::fgetc(file); c != EOF && matched < sizeof(kFile); c = std::fgetc(file)) {
    if (c != kFile[matched]) matched = 0;
    if (c == kFile[matched]) ++matched;
  }
  std::fclose(file);
  return matched == sizeof(kFile);
}

}  // namespace

// If neither knows it, the loader itself decides, and gives the best reason.
bool FindCublas(char* reason, size_t reason_size) {
  return InAFolderOfTheLoaders() || InTheLoadersCache() ||
         LoadCublas(reason, reason_size) != nullptr;
}

const Cublas* LoadCublas(char* reason, size_t reason_size) {
  static std::atomic<const Cublas*> loaded = nullptr;
  if (const Cublas* cublas = loaded.load(); cublas != nullptr) return cublas;
  dlopen(kNeededFile, RTLD_NOW | RTLD_LOCAL);  // If this fails, the loader reports it below.
  void* library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::snprintf(reason, reason_size,
                  "cuBLAS cannot be loaded (install it, or add its folder to LD_LIBRARY_PATH): %s",
                  dlerror());
    return nullptr;
  }
  Cublas found{};
  if (const char* missing = FindFunctions(library, found); missing != nullptr) {
    std::snprintf(reason, reason_size, "%s has no %s; install cuBLAS %d.%d or newer", kFile,
                  missing, CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR);
    dlclose(library);
    return nullptr;
  }
  // Kept until the program ends, like the library.
  const Cublas* mine = new (std::nothrow) Cublas(found);
  const Cublas* before = nullptr;
  if (loaded.compare_exchange_strong(before, mine)) return mine;
  delete mine;
  return before;
}

}  // namespace motley::cuda
