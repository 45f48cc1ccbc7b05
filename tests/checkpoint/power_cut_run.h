// SPDX-License-Identifier: Apache-2.0
// A training run that writes checkpoints and is killed, or loses power, again and again. After each
// time the newest acknowledged checkpoint, or a newer complete one, can be restored exactly, also
// with any m shards lost or damaged.
#pragma once

#include <cstdint>
#include <string>

namespace motley {

// How often the interesting cases occurred; without them a run proves nothing.
struct PowerCutCounts {
  uint64_t incarnations = 0;
  uint64_t killed = 0;  // The program died, but the power stayed.
  uint64_t acknowledged = 0;
  uint64_t degraded = 0;  // Acknowledged without all shards.
  uint64_t cut_while_writing = 0;
  // Complete when the power was cut, but not yet acknowledged.
  uint64_t newer_than_acknowledged = 0;
  uint64_t failed_operations = 0;
  uint64_t with_damage = 0;
};

// Empty on success, else what failed with this seed.
std::string RunPowerCuts(uint64_t seed, PowerCutCounts& counts);

}  // namespace motley
