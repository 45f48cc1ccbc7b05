// SPDX-License-Identifier: Apache-2.0
// Errors of the library name its options in `backquotes`; people here know them as flags.
#pragma once

#include <string>
#include <string_view>

namespace motley {

// "`worker_speeds` 1,x" becomes "--worker-speeds 1,x". Other words in backquotes stay.
std::string WithFlags(std::string_view text);

}  // namespace motley
