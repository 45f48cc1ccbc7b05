// SPDX-License-Identifier: Apache-2.0
// Reads lines from standard input on a loop. Loop thread.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "runtime/uv_loop.h"

namespace motley {

class LineInput {
 public:
  // `closed` runs once, at the end of the input.
  LineInput(UvLoop& loop, std::function<void(const std::string&)> line,
            std::function<void()> closed);
  ~LineInput();  // The loop must not be running.
  // kResource: standard input is not a pipe.
  Status Open();

 private:
  struct Impl;
  Impl* impl_;  // Freed by libuv's close callback.
};

}  // namespace motley
