// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace motley {
namespace {

std::atomic<bool> failed{false};

}  // namespace

bool AssertHasFailed() { return failed; }

void AssertFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "motley: internal error: %s does not hold (%s:%d). Please report this.\n",
               condition, file, line);
  failed = true;
  std::abort();
}

}  // namespace motley
