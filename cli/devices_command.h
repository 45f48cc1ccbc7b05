// SPDX-License-Identifier: Apache-2.0
// `motley devices`: what this machine has to compute with, and why something cannot be used.
#pragma once

namespace motley {

struct DevicesFlags {
  bool json = false;
};

int RunDevices(const DevicesFlags& flags);

}  // namespace motley
