// SPDX-License-Identifier: Apache-2.0
// The folder in which PoCL keeps compiled kernels. If it cannot create files there, PoCL has no
// devices and does not say why, or ends the program.
#pragma once

#include <string>

namespace motley::opencl {

// The folder that PoCL chooses (see its lib/CL/pocl_cache.c). Empty: PoCL uses one for all users.
std::string PoclFolder();

// The reason why PoCL cannot use that folder, or empty if it can. Makes the folder if it is
// missing.
std::string WhyNotPocl(const std::string& folder);

}  // namespace motley::opencl
