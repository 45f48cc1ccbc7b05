// SPDX-License-Identifier: Apache-2.0
#include "api/versioned.h"

#include <fmt/format.h>

namespace motley {
namespace {

constexpr uint32_t kMostStructSize = 4096;  // Larger sizes are assumed to be garbage.

}  // namespace

Status CheckStructSize(const char* what, const char* made_by, uint32_t size, size_t alignment) {
  if (size >= alignment && size <= kMostStructSize && size % alignment == 0) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("{}: struct_size {} matches no release. Begin with {}", what, size, made_by));
}

Status UnknownWish(const char* what, size_t known) {
  return Status::InvalidArgument(
      fmt::format("{}: sets members that this release ({} bytes) does not have. Leave them 0, or "
                  "use a newer libmotley",
                  what, known));
}

}  // namespace motley
