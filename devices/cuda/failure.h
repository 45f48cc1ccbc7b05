// SPDX-License-Identifier: Apache-2.0
// The first failure of a queue, kept until it is reported.
#pragma once

#include <cstddef>

#include "devices/drivers/driver.h"

namespace motley::cuda {

// One thread at a time.
class Failure {
 public:
  int code() const { return code_; }
  bool failed() const { return code_ != MOTLEY_DRIVER_OK; }
  // Keeps "`doing` failed: `name`, `explanation`", unless there is a failure already.
  void Keep(int code, const char* doing, const char* name, const char* explanation);
  // Copies the text, clears the failure and returns its code.
  int Report(char* error, size_t error_size);

 private:
  int code_ = MOTLEY_DRIVER_OK;
  char text_[512] = "";
};

}  // namespace motley::cuda
