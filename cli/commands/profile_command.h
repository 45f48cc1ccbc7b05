// SPDX-License-Identifier: Apache-2.0
// `motley profile`: how fast this machine is at a model, as a worker of a cluster file.
#pragma once

#include <cstdint>
#include <string>

namespace motley {

struct ProfileFlags {
  std::string model = "softmax";
  std::string data;  // Empty: made-up samples of `features` and `classes`.
  std::string label;
  uint32_t features = 784;
  uint32_t classes = 10;
  uint32_t batch = 256;
  uint32_t threads = 0;  // 0: all.
  double seconds = 5;
  std::string name;  // Of the worker; empty: the host's.
  std::string out;
  std::string server;  // Whose link is measured; empty: this machine's own.
  uint32_t streams = 1;
  std::string serve;  // Address to be measured at; empty: measure.
  bool fresh = false;
  bool json = false;
  bool quiet = false;
};

// The exit code.
int RunProfile(const ProfileFlags& flags);

}  // namespace motley
