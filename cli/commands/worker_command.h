// SPDX-License-Identifier: Apache-2.0
// `motley worker` runs one worker. `motley train` starts it and passes its settings in environment
// variables. With --server users can start one for a server elsewhere. `motley server --shard` runs
// a shard server, which holds a part of a job's vector and computes nothing.
#pragma once

#include <cstdint>
#include <string>

namespace motley {

struct WorkerFlags {
  std::string server;    // Empty: from the environment.
  std::string name;      // Empty: chosen.
  uint32_t threads = 0;  // 0: chosen.
  std::string devices;   // Empty: the processor.
  std::string wait = "10min";
  bool forever = false;
  bool verbose = false;
};

// `devices` is unused.
struct ShardServerFlags : WorkerFlags {
  bool shard = false;  // The only kind of server so far, and required.
};

int RunWorker(const WorkerFlags& flags);
int RunShardServer(const ShardServerFlags& flags);

}  // namespace motley
