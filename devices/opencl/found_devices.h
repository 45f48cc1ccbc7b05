// SPDX-License-Identifier: Apache-2.0
// The OpenCL devices of this machine, of every installed platform, usable or not. One thread at a
// time.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <string>
#include <vector>

namespace motley::opencl {

struct FoundDevice {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  std::string name;
  std::string platform_text;  // "Portable Computing Language, OpenCL 3.0 PoCL 3.1"
  std::string version_text;   // Of device and driver: what a compiled program depends on.
  bool is_processor = false;  // Its work items share the caches of a CPU.
  size_t lanes = 1;           // Floats that fit its registers: a power of two, 4 to 16.
  uint32_t units = 0;
  uint64_t memory_bytes = 0;
  uint64_t most_bytes_at_once = 0;  // In one allocation.
  size_t most_group_items = 0;
  bool has_doubles = false;  // Else sums are kept in pairs of floats (kernels/wide.cl).
  std::string reason;        // Why it cannot be used; empty when it can.
};

// None: `reason` says why.
std::vector<FoundDevice> FindDevices(std::string& reason);

}  // namespace motley::opencl
