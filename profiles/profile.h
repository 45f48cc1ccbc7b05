// SPDX-License-Identifier: Apache-2.0
// What was measured of a cluster: plain structs, and the TOML file format that people edit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace motley {

// Time for x samples on a device: overhead_seconds + x / samples_per_second.
struct DeviceProfile {
  std::string name;
  std::string kind = "cpu";  // cpu | cuda | opencl
  double samples_per_second = 0;
  double overhead_seconds = 0;  // Per piece of work.
  double jitter = 0;            // Relative standard deviation of a piece's time.
  uint64_t memory_bytes = 0;    // 0: not known.
};

// One direction-less link between a worker and the server.
struct LinkProfile {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // 0: unlimited.
};

struct WorkerProfile {
  DeviceProfile device;
  LinkProfile link;
};

struct ClusterProfile {
  std::string name;
  std::vector<WorkerProfile> workers;
  uint64_t gradient_bytes = 0;  // Of the model it was measured with; 0: not said.
  double step_flops = 0;
};

// kNotFound; kDataError with line and column, the key at fault and, for an unknown key, the one
// that was probably meant.
Result<ClusterProfile> LoadClusterProfile(const std::string& path);
Result<ClusterProfile> ParseClusterProfile(const std::string& text, const std::string& source);
std::string FormatClusterProfile(const ClusterProfile& profile);

}  // namespace motley
