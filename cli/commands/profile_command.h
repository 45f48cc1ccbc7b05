// SPDX-License-Identifier: Apache-2.0
// `motley profile` measures how fast this machine computes a model, and writes it as a worker of a
// cluster file.
#pragma once

#include <cstdint>
#include <string>

namespace motley {

struct ProfileFlags {
  std::string model = "softmax";
  std::string data;  // Empty: synthetic samples with `features` and `classes`.
  std::string label;
  uint32_t features = 784;
  uint32_t classes = 10;
  uint32_t batch = 256;
  uint32_t threads = 0;  // 0: all.
  double seconds = 5;
  std::string name;  // The worker's name; empty: the host's.
  std::string out;
  std::string server;  // The server to measure the link to; empty: this machine.
  uint32_t streams = 1;
  std::string serve;  // Address at which others measure; empty: measure here.
  bool fresh = false;
  bool json = false;
  bool quiet = false;
};

// Returns the exit code.
int RunProfile(const ProfileFlags& flags);

}  // namespace motley
