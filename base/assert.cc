// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace motley {

void AssertFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "motley: internal error: %s does not hold (%s:%d). Please report this.\n",
               condition, file, line);
  std::abort();
}

}  // namespace motley
