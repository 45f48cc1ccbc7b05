// SPDX-License-Identifier: Apache-2.0
// MOTLEY_ASSERT checks for our own bugs, in every build. Bad input gets a Status instead.
#pragma once

namespace motley {

// Prints the failed condition with its place and aborts.
[[noreturn]] void AssertFailed(const char* condition, const char* file, int line);
// True once AssertFailed was called: an abort is then ours, not a driver's. Safe in signal
// handlers.
bool AssertHasFailed();

}  // namespace motley

#define MOTLEY_ASSERT(condition) \
  ((condition) ? void(0) : ::motley::AssertFailed(#condition, __FILE__, __LINE__))
