// SPDX-License-Identifier: Apache-2.0
// Compiles OpenCL C for one device, and keeps the result on disk between runs. One thread at a
// time.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "devices/opencl/found_devices.h"
#include "devices/opencl/handle.h"

namespace motley::opencl {

struct ProgramOptions {
  std::string flags;         // "-DGROUP=256"
  std::string cache_folder;  // Made if it is missing; empty: nothing is kept.
};

// All that a compiled program depends on, as plain text: the cache compares the whole text.
std::string ProgramKey(const FoundDevice& device, std::string_view source,
                       const std::string& flags);

// kInternal with the compiler's log if the program does not compile. A cache file that is damaged,
// or of another device, driver, source or flags, is ignored and replaced. An unwritable folder
// costs only time.
Result<Program> BuildProgram(cl_context context, const FoundDevice& device, std::string_view source,
                             const ProgramOptions& options);

}  // namespace motley::opencl
