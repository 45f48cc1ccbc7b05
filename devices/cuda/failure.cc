// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/failure.h"

#include <cstdio>

namespace motley::cuda {

void Failure::Keep(int code, const char* doing, const char* name, const char* explanation) {
  if (failed() || code == MOTLEY_DRIVER_OK) return;
  code_ = code;
  const char* late =
      code == MOTLEY_DRIVER_LOST ? " (kernels fail late; an earlier one may be the cause)" : "";
  std::snprintf(text_, sizeof(text_), "%s failed: %s, %s%s", doing, name, explanation, late);
}

int Failure::Report(char* error, size_t error_size) {
  if (error_size > 0) std::snprintf(error, error_size, "%s", failed() ? text_ : "");
  const int code = code_;
  code_ = MOTLEY_DRIVER_OK;
  return code;
}

}  // namespace motley::cuda
