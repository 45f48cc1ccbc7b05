// SPDX-License-Identifier: Apache-2.0
// `motley worker`: one worker. `motley train` starts it and tells it by its environment what it has
// to know; with --server people can start one for a server elsewhere.
#pragma once

#include <cstdint>
#include <string>

namespace motley {

struct WorkerFlags {
  std::string server;    // Empty: as the environment says.
  std::string name;      // Empty: chosen.
  uint32_t threads = 0;  // 0: chosen.
  std::string devices;   // Empty: the processor.
  std::string wait = "10min";
  bool forever = false;
  bool verbose = false;
};

int RunWorker(const WorkerFlags& flags);

}  // namespace motley
