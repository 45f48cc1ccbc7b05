// SPDX-License-Identifier: Apache-2.0
// The folder in which PoCL keeps compiled kernels. Where it cannot make files there, PoCL has no
// devices and does not say why, or ends the program.
#pragma once

#include <string>

namespace motley::opencl {

// As PoCL chooses it (its lib/CL/pocl_cache.c); empty: it has one of its own for all users.
std::string PoclFolder();

// Why PoCL cannot work with that folder, which is made when it is missing; empty: it can.
std::string WhyNotPocl(const std::string& folder);

}  // namespace motley::opencl
