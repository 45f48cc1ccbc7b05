// SPDX-License-Identifier: Apache-2.0
// `motley run` starts the server and the workers of a program that trains with Motley: on this
// machine, over ssh, or as a task of srun or mpirun.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace motley {

struct RunFlags {
  std::vector<std::string> program;  // With its arguments.
  uint32_t workers = 0;              // 0: not given.
  std::string hosts;                 // Empty: this machine.
  std::string address;               // By which others reach this machine; empty: chosen.
  std::string python;                // Empty: chosen.
  std::string shared;                // Folder where tasks find their server; empty: chosen.
  std::string wait = "10min";        // For the first task.
  std::string grace = "30s";
  uint32_t restart = 0;
  bool alone = false;  // The first task runs no worker.
  bool quiet = false;
};

int RunRun(const RunFlags& flags);

}  // namespace motley
