// SPDX-License-Identifier: Apache-2.0
#include "api/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace motley {
namespace {

// One buffer per thread. Its address never changes, so a pointer from before a call shows the
// call's error, too.
constexpr size_t kLongest = 8000;
thread_local char last_error[kLongest + 1] = "";

// Does not allocate.
motley_status Keep(motley_status code, std::string_view text) noexcept {
  size_t length = std::min(text.size(), kLongest);
  const auto continues = [&] { return (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80; };
  // Do not cut a UTF-8 character in half.
  while (length < text.size() && length > 0 && continues()) --length;
  std::memcpy(last_error, text.data(), length);
  last_error[length] = '\0';
  return code;
}

}  // namespace

motley_status Report(const Status& status) noexcept {
  if (status.ok()) return MOTLEY_OK;
  const auto code = static_cast<motley_status>(status.code());
  try {
    return Keep(code, status.ToString());
  } catch (const std::bad_alloc&) {
    return Keep(code, "failed, and there is no memory left to say why");
  }
}

motley_status ReportNoMemory() noexcept {
  return Keep(MOTLEY_RESOURCE,
              "not enough memory; use fewer workers, a smaller model or less data");
}

motley_status ReportThrown(const char* what) noexcept {
  try {
    return Keep(MOTLEY_INTERNAL, fmt::format("an exception: {}. This is a bug of motley", what));
  } catch (...) {
    return Keep(MOTLEY_INTERNAL, "an exception. This is a bug of motley");
  }
}

Status CheckNotNull(const char* function, const char* argument, const void* pointer) {
  if (pointer != nullptr) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{}: {} is NULL", function, argument));
}

Status CheckRange(uint64_t begin, uint64_t end, uint64_t values) {
  if (begin <= end && end <= values) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("[{}, {}) is no range of a sum of {} values", begin, end, values));
}

}  // namespace motley

extern "C" const char* motley_last_error(void) { return motley::last_error; }
