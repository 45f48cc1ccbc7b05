// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "cli/error_stream.h"
#include "cli/flag_words.h"
#include "fmt/core.h"

namespace motley {

int ExitCodeOf(motley_status status) {
  switch (status) {
    case MOTLEY_OK: return kExitOk;
    case MOTLEY_INVALID_ARGUMENT: return kExitUsage;
    case MOTLEY_NOT_FOUND: return kExitNotFound;
    case MOTLEY_UNAVAILABLE: return kExitUnavailable;
    case MOTLEY_PERMISSION: return kExitPermission;
    case MOTLEY_CONFLICT: return kExitConflict;
    default: return kExitFailure;
  }
}

int Fail(const Status& status) {
  Warn(status.ToString());
  return ExitCodeOf(static_cast<motley_status>(status.code()));
}

int FailOfLibrary(motley_status status) {
  Warn(motley_last_error());
  return ExitCodeOf(status);
}

void Warn(std::string_view text) {
  WriteToErrorStream(fmt::format("motley: {}\n", WithFlags(text)));
}

int PrintResult(std::string_view text) {
  const size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0) return kExitOk;
  Warn(fmt::format("cannot write the result to standard output: {}", std::strerror(errno)));
  return kExitFailure;
}

}  // namespace motley
