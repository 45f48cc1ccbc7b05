// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace motley {

// What this machine is called; "this-machine" where it has no name.
std::string HostName();

}  // namespace motley
