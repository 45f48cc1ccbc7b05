// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/operations/clblast_library.h"

#include <dlfcn.h>

#include <atomic>

namespace motley::opencl {
namespace {

constexpr char kFile[] = "libclblast.so.1";

std::atomic<const ClBlast*> loaded = nullptr;

template <typename Function>
bool Find(void* library, const char* name, Function*& to) {
  to = reinterpret_cast<Function*>(dlsym(library, name));
  return to != nullptr;
}

// The library stays loaded until the program ends.
bool Load(ClBlast& found) {
  void* const library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  if (Find(library, "CLBlastSGemmTempBufferSize", found.scratch_bytes) &&
      Find(library, "CLBlastSgemmWithTempBuffer", found.gemm) &&
      Find(library, "CLBlastClearCache", found.clear_cache)) {
    return true;
  }
  dlclose(library);
  return false;
}

}  // namespace

const ClBlast* LoadClBlast() {
  static ClBlast functions{};
  static const bool found = Load(functions);
  if (found) loaded = &functions;
  return loaded;
}

const ClBlast* LoadedClBlast() { return loaded; }

}  // namespace motley::opencl
