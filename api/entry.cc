// SPDX-License-Identifier: Apache-2.0
#include "api/entry.h"

#include <fmt/format.h>

#include <string>

namespace motley {
namespace {

// What the last failed call of this thread said. `fixed` stands in where there was no memory.
struct LastError {
  std::string text;
  const char* fixed = nullptr;
};

LastError& Last() noexcept {
  thread_local LastError last;
  return last;
}

motley_status Keep(motley_status code, const char* fixed) noexcept {
  Last().fixed = fixed;
  return code;
}

}  // namespace

motley_status Report(const Status& status) noexcept {
  if (status.ok()) return MOTLEY_OK;
  const auto code = static_cast<motley_status>(status.code());
  try {
    Last().text = status.ToString();
  } catch (const std::bad_alloc&) {
    return Keep(code, "failed, and there is no memory left to say why");
  }
  return Keep(code, nullptr);
}

motley_status ReportNoMemory() noexcept {
  return Keep(MOTLEY_RESOURCE,
              "not enough memory; use fewer workers, a smaller model or less data");
}

motley_status ReportThrown(const char* what) noexcept {
  try {
    Last().text = fmt::format("an exception: {}. This is a bug of motley", what);
  } catch (...) {
    return Keep(MOTLEY_INTERNAL, "an exception. This is a bug of motley");
  }
  return Keep(MOTLEY_INTERNAL, nullptr);
}

Status CheckNotNull(const char* function, const char* argument, const void* pointer) {
  if (pointer != nullptr) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{}: {} is NULL", function, argument));
}

}  // namespace motley

extern "C" const char* motley_last_error(void) {
  const motley::LastError& last = motley::Last();
  return last.fixed != nullptr ? last.fixed : last.text.c_str();
}
