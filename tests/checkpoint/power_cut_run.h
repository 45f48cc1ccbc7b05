// SPDX-License-Identifier: Apache-2.0
// A training run that writes checkpoints and is killed, or whose power goes, again and again. After
// each time: the newest acknowledged checkpoint or a newer complete one is there, exactly as it was
// written, also with any m shards lost or damaged.
#pragma once

#include <cstdint>
#include <string>

namespace motley {

// How often what is interesting was reached; a run that reaches none of it shows nothing.
struct PowerCutCounts {
  uint64_t lives = 0;
  uint64_t killed = 0;  // The program died, the power stayed.
  uint64_t acknowledged = 0;
  uint64_t degraded = 0;  // Of these: without all shards.
  uint64_t cut_while_writing = 0;
  uint64_t newer_than_acknowledged = 0;  // Complete when the power went, though nobody was told.
  uint64_t failed_operations = 0;
  uint64_t with_damage = 0;
};

// Empty when all held, else what did not, under this seed.
std::string RunPowerCuts(uint64_t seed, PowerCutCounts& counts);

}  // namespace motley
