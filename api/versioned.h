// SPDX-License-Identifier: Apache-2.0
// Structs of the C API grow: each begins with the size that its program was compiled with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/status.h"

namespace motley {

// kInvalidArgument unless `size` can be that of some release's struct.
Status CheckStructSize(const char* what, const char* made_by, uint32_t size, size_t alignment);
// kInvalidArgument: a newer program asks for what a struct of `known` bytes has no room for.
Status UnknownWish(const char* what, size_t known);

// A struct as this release has it: what an older program does not know stays as in `defaults`; what
// a newer one set and this release does not know is kInvalidArgument, so that no wish is ignored.
template <typename T>
Result<T> ReadVersioned(const T* given, T defaults, const char* what, const char* made_by) {
  const uint32_t size = given->struct_size;
  MOTLEY_RETURN_IF_ERROR(CheckStructSize(what, made_by, size, alignof(T)));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof(T) &&
      !std::all_of(bytes + sizeof(T), bytes + size, [](unsigned char b) { return b == 0; })) {
    return UnknownWish(what, sizeof(T));
  }
  std::memcpy(&defaults, given, std::min<size_t>(size, sizeof(T)));
  defaults.struct_size = sizeof(T);
  return defaults;
}

// Fills the part of `*out` that its program knows; its struct_size stays.
template <typename T>
Status WriteVersioned(const T& value, T* out, const char* what, const char* made_by) {
  const uint32_t size = out->struct_size;
  MOTLEY_RETURN_IF_ERROR(CheckStructSize(what, made_by, size, alignof(T)));
  std::memcpy(out, &value, std::min<size_t>(size, sizeof(T)));
  out->struct_size = size;
  return Status::Ok();
}

}  // namespace motley
