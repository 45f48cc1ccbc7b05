// SPDX-License-Identifier: Apache-2.0
// Compiling OpenCL C for one device, kept on disk between runs. One thread at a time.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "devices/opencl/found_devices.h"
#include "devices/opencl/handle.h"

namespace motley::opencl {

struct ProgramOptions {
  std::string flags;         // "-DGROUP=256"
  std::string cache_folder;  // Made when it is not there; empty: nothing is kept.
};

// Everything that a compiled program depends on, in the open: the cache compares it whole.
std::string ProgramKey(const FoundDevice& device, std::string_view source,
                       const std::string& flags);

// A program that does not compile is kInternal with the compiler's log. A file in the cache that is
// damaged, or of another device, driver, source or flags, is as good as none and replaced; a folder
// that cannot be written to costs only time.
Result<Program> BuildProgram(cl_context context, const FoundDevice& device, std::string_view source,
                             const ProgramOptions& options);

}  // namespace motley::opencl
