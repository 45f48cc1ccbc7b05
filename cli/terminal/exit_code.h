// SPDX-License-Identifier: Apache-2.0
// Exit codes of the program, and functions that print errors and results.
#pragma once

#include <string_view>

#include "base/status.h"
#include "motley/status.h"

namespace motley {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,
  kExitNotFound = 3,
  kExitUnavailable = 4,  // Also timeouts.
  kExitPermission = 5,
  kExitConflict = 6,
};

int ExitCodeOf(motley_status status);
// Prints "motley: <the error and its causes>" to stderr and returns the exit code.
int Fail(const Status& status);
// The same for a call of the library that failed with `status`.
int FailOfLibrary(motley_status status);
// Prints "motley: text" to stderr, options as flags (flag_words.h).
void Warn(std::string_view text);
// Writes `text` to stdout and flushes it. kExitFailure if that fails (closed pipe, full disk),
// otherwise kExitOk.
int PrintResult(std::string_view text);

}  // namespace motley
