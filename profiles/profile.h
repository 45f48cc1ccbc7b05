// SPDX-License-Identifier: Apache-2.0
// The measurements of a cluster: plain structs, and the TOML file format that users edit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

// Identifies a device, so that a measurement is not used for another one. Unknown texts are empty,
// unknown counts 0.
struct HardwareFacts {
  std::string vendor;
  std::string model;            // "AMD EPYC 7B13"
  std::string driver;           // Kernels or driver that computed: "avx512", "535.104.05".
  uint32_t cores = 0;           // Cores that may be used.
  uint32_t threads = 0;         // Hardware threads of these cores.
  std::string core_kinds;       // "4+8" for cores of different kinds, slowest kind first.
  double bytes_per_second = 0;  // Memory bandwidth, with all cores reading.

  bool operator==(const HardwareFacts&) const = default;
};

// Files may not set `jitter` and `tail_factor` higher.
inline constexpr double kMostJitter = 10, kMostTailFactor = 1e6;
// In bytes per second: files may not set a limited link lower.
inline constexpr double kLeastRate = 1;

// A device takes overhead_seconds + max(x, knee_samples) / samples_per_second for x samples
// (profiles/cost_model.h).
struct DeviceProfile {
  std::string name;
  std::string kind = "cpu";  // A name of base/device_kind.h.
  double samples_per_second = 0;
  double overhead_seconds = 0;  // Per piece of work.
  double jitter = 0;            // Relative standard deviation of a typical piece's time.
  uint64_t memory_bytes = 0;    // 0: not known.
  double knee_samples = 0;      // Fewer samples take as long as this many.
  uint64_t max_samples = 0;  // The most that fit into memory at once, with the model; 0: not known.
  // Rare slow pieces: their share of all pieces, and their time relative to a typical piece.
  double tail_probability = 0;
  double tail_factor = 1;
  HardwareFacts hardware;

  bool operator==(const DeviceProfile&) const = default;
};

// Sixteen hexadecimal digits that identify device, driver, number of cores and the `measured_with`
// text. They depend on kind, memory and hardware, except for facts that are measured anew each
// time.
std::string DeviceIdentity(const DeviceProfile& device, std::string_view measured_with = "");

struct LinkDirection {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // 0: unlimited.

  bool operator==(const LinkDirection&) const = default;
};

// The link between a worker and the server.
struct LinkProfile {
  // Both directions, or only from the worker to the server if `down` is set.
  double latency_seconds = 0;
  double bytes_per_second = 0;  // 0: unlimited.
  std::optional<LinkDirection> down;

  LinkDirection Up() const { return {latency_seconds, bytes_per_second}; }
  LinkDirection Down() const { return down.value_or(Up()); }
  bool operator==(const LinkProfile&) const = default;
};

// The capacity of the server's own link for all workers together, in bytes per second; 0:
// unlimited.
struct ServerRates {
  double in = 0;   // Vectors from the workers.
  double out = 0;  // Parameters and data to the workers.

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
  std::optional<ServerRates> server;  // Unset: see ServerRatesOf.
  uint64_t gradient_bytes = 0;        // Size for the measured model; 0: not known.
  double step_flops = 0;
  std::string model;  // The measured model, as for `--model`; empty: not known.

  bool operator==(const ClusterProfile&) const = default;
};

// The profile's rates; if it has none, each direction is as wide as the widest worker's link.
ServerRates ServerRatesOf(const ClusterProfile& profile);

// kNotFound when the file is missing. kDataError names line, column and key, and for an unknown key
// suggests the nearest known one.
Result<ClusterProfile> LoadClusterProfile(const std::string& path);
Result<ClusterProfile> ParseClusterProfile(const std::string& text, const std::string& source);
std::string FormatClusterProfile(const ClusterProfile& profile);

}  // namespace motley
