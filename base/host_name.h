// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace motley {

// The name of this machine, or "this-machine" if it has none.
std::string HostName();

}  // namespace motley
