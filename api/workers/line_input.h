// SPDX-License-Identifier: Apache-2.0
// Standard input as lines on a loop. Loop thread.
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
  ~LineInput();  // The loop is not running.
  // kResource when standard input is no pipe.
  Status Open();

 private:
  struct Impl;
  Impl* impl_;  // Freed by libuv's close callback.
};

}  // namespace motley
