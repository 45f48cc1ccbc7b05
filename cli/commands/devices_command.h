// SPDX-License-Identifier: Apache-2.0
// `motley devices`: what this machine has to compute with, and why something cannot be used.
#pragma once

#include <string>

namespace motley {

struct DevicesFlags {
  bool json = false;
  bool check = false;
  bool quiet = false;
  std::string devices;  // To check; empty: all that can be used.
};

int RunDevices(const DevicesFlags& flags);

}  // namespace motley
