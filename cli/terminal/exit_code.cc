// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/exit_code.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "cli/terminal/error_stream.h"
#include "cli/terminal/flag_words.h"
#include "cli/terminal/terminal.h"
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
  const std::string line = fmt::format("motley: {}\n", WithFlags(text));
  WriteToErrorStream(WrapText(line, TerminalColumns(STDERR_FILENO)));
}

int PrintResult(std::string_view text) {
  // JSON stays one line, so that it can be copied from a terminal.
  const size_t columns = text.starts_with('{') ? 0 : TerminalColumns(STDOUT_FILENO);
  const std::string shown = WrapText(text, columns);
  const size_t written = std::fwrite(shown.data(), 1, shown.size(), stdout);
  if (written == shown.size() && std::fflush(stdout) == 0) return kExitOk;
  // The reader has read enough: motley plan --json | head.
  if (errno == EPIPE) return kExitFailure;
  Warn(fmt::format("cannot write the result to standard output: {}", std::strerror(errno)));
  return kExitFailure;
}

}  // namespace motley
