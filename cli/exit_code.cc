// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "fmt/core.h"

namespace motley {

int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return kExitOk;
    case StatusCode::kInvalidArgument: return kExitUsage;
    case StatusCode::kNotFound: return kExitNotFound;
    case StatusCode::kUnavailable: return kExitUnavailable;
    case StatusCode::kPermission: return kExitPermission;
    case StatusCode::kConflict: return kExitConflict;
    default: return kExitFailure;
  }
}

int Fail(const Status& status) {
  Warn(status.ToString());
  return ExitCodeOf(status);
}

void Warn(std::string_view text) {
  const std::string line = fmt::format("motley: {}\n", text);
  // Nobody reads it when it cannot be written; fmt::print would throw.
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

int PrintResult(std::string_view text) {
  const size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0) return kExitOk;
  Warn(fmt::format("cannot write the result to standard output: {}", std::strerror(errno)));
  return kExitFailure;
}

}  // namespace motley
