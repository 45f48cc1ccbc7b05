// SPDX-License-Identifier: Apache-2.0
// `motley devices` lists the devices of this machine, and says why some cannot be used.
#pragma once

#include <string>

namespace motley {

struct DevicesFlags {
  bool json = false;
  bool check = false;
  bool quiet = false;
  std::string devices;  // Devices to check; empty: all usable ones.
};

int RunDevices(const DevicesFlags& flags);

}  // namespace motley
