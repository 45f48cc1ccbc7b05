// SPDX-License-Identifier: Apache-2.0
// `motley worker` runs one worker. `motley train` starts it and passes its settings in environment
// variables. With --server users can start one for a server elsewhere.
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

int RunWorker(const WorkerFlags& flags);

}  // namespace motley
