// SPDX-License-Identifier: Apache-2.0
// The OpenCL devices of all installed platforms, usable or not. One thread at a time.
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
  std::string version_text;   // Device and driver versions, which a compiled program depends on.
  bool is_processor = false;  // A CPU: its work items share the caches.
  size_t lanes = 1;           // Floats in a register: a power of two, 4 to 16.
  uint32_t units = 0;
  uint64_t memory_bytes = 0;
  uint64_t most_bytes_at_once = 0;  // The most for one allocation.
  size_t most_group_items = 0;
  bool has_doubles = false;  // Otherwise sums use pairs of floats (kernels/wide.cl).
  std::string reason;        // Why the device cannot be used; empty when it can.
};

// If there are none, `reason` says why.
std::vector<FoundDevice> FindDevices(std::string& reason);

}  // namespace motley::opencl
