// SPDX-License-Identifier: Apache-2.0
// MOTLEY_ASSERT: for our own bugs only, and always on. Bad input gets a Status instead.
#pragma once

namespace motley {

// Prints the failed condition with its place and aborts.
[[noreturn]] void AssertFailed(const char* condition, const char* file, int line);
// Whether it was called: what aborts then are we. Also in signal handlers.
bool AssertHasFailed();

}  // namespace motley

#define MOTLEY_ASSERT(condition) \
  ((condition) ? void(0) : ::motley::AssertFailed(#condition, __FILE__, __LINE__))
