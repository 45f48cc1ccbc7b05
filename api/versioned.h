// SPDX-License-Identifier: Apache-2.0
// Reads and writes structs of the C API of any release. Each struct begins with the size that its
// program was compiled with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/status.h"

namespace motley {

// kInvalidArgument unless `size` can be the size of some release's struct.
Status CheckStructSize(const char* what, const char* made_by, uint32_t size, size_t alignment);
// Returns kInvalidArgument for a newer program that sets members beyond the `known` bytes.
Status UnknownWish(const char* what, size_t known);

// Converts a struct to this release's. Members that an older program does not have stay as in
// `defaults`. A newer program may not set members that this release does not have
// (kInvalidArgument), so that no option is silently ignored.
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

// Fills the members of `*out` that the program has. struct_size stays.
template <typename T>
Status WriteVersioned(const T& value, T* out, const char* what, const char* made_by) {
  const uint32_t size = out->struct_size;
  MOTLEY_RETURN_IF_ERROR(CheckStructSize(what, made_by, size, alignof(T)));
  std::memcpy(out, &value, std::min<size_t>(size, sizeof(T)));
  out->struct_size = size;
  return Status::Ok();
}

}  // namespace motley
