// SPDX-License-Identifier: Apache-2.0
// What was measured of a cluster: plain structs, and the TOML file format that people edit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

// What a device is, so that a measurement is not used for another one. Texts may be empty, counts
// 0: not known.
struct HardwareFacts {
  std::string vendor;
  std::string model;            // "AMD EPYC 7B13"
  std::string driver;           // Kernels or driver that computed: "avx512", "535.104.05".
  uint32_t cores = 0;           // That may be used.
  uint32_t threads = 0;         // Of these cores.
  std::string core_kinds;       // "4+8" where cores are not alike, the slowest kind first.
  double bytes_per_second = 0;  // Memory bandwidth, all cores reading.

  bool operator==(const HardwareFacts&) const = default;
};

// Of `jitter` and `tail_factor`: files say no more.
inline constexpr double kMostJitter = 10, kMostTailFactor = 1e6;
// Bytes per second of a link that has a limit: files say no less.
inline constexpr double kLeastRate = 1;

// How long a device takes for x samples, which profiles/cost_model.h computes:
// overhead_seconds + max(x, knee_samples) / samples_per_second.
struct DeviceProfile {
  std::string name;
  std::string kind = "cpu";  // cpu | cuda | opencl
  double samples_per_second = 0;
  double overhead_seconds = 0;  // Per piece of work.
  double jitter = 0;            // Relative standard deviation of a typical piece's time.
  uint64_t memory_bytes = 0;    // 0: not known.
  double knee_samples = 0;      // Fewer than these take as long.
  uint64_t max_samples = 0;     // That fit into memory at once, with the model; 0: not known.
  // Rare slow pieces: how many there are of all, and how long they take, in typical pieces.
  double tail_probability = 0;
  double tail_factor = 1;
  HardwareFacts hardware;

  bool operator==(const DeviceProfile&) const = default;
};

// Sixteen hexadecimal digits that change when another device, driver or number of cores is meant,
// or it was `measured_with` something else. Depends on kind, memory and hardware, except for what
// is measured anew each time.
std::string DeviceIdentity(const DeviceProfile& device, std::string_view measured_with = "");

struct LinkDirection {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // 0: unlimited.

  bool operator==(const LinkDirection&) const = default;
};

// The link between a worker and the server.
struct LinkProfile {
  // Both ways, or only from the worker to the server where `down` is there.
  double latency_seconds = 0;
  double bytes_per_second = 0;  // 0: unlimited.
  std::optional<LinkDirection> down;

  LinkDirection Up() const { return {latency_seconds, bytes_per_second}; }
  LinkDirection Down() const { return down.value_or(Up()); }
  bool operator==(const LinkProfile&) const = default;
};

// What the server's own link carries for all workers together, in bytes per second; 0: unlimited.
struct ServerRates {
  double in = 0;   // Vectors, from the workers.
  double out = 0;  // Parameters and data, to them.

  bool operator==(const ServerRates&) const = default;
};

struct WorkerProfile {
  DeviceProfile device;
  LinkProfile link;

  bool operator==(const WorkerProfile&) const = default;
};

struct ClusterProfile {
  std::string name;
  std::vector<WorkerProfile> workers;
  std::optional<ServerRates> server;  // Nothing: see ServerRatesOf.
  uint64_t gradient_bytes = 0;        // Of the model it was measured with; 0: not said.
  double step_flops = 0;
  std::string model;  // That it was measured with, as for `--model`; empty: not said.

  bool operator==(const ClusterProfile&) const = default;
};

// As the profile says; where it says nothing, each way as wide as the widest worker's link.
ServerRates ServerRatesOf(const ClusterProfile& profile);

// kNotFound; kDataError with line and column, the key at fault and, for an unknown key, the one
// that was probably meant.
Result<ClusterProfile> LoadClusterProfile(const std::string& path);
Result<ClusterProfile> ParseClusterProfile(const std::string& text, const std::string& source);
std::string FormatClusterProfile(const ClusterProfile& profile);

}  // namespace motley
