// SPDX-License-Identifier: Apache-2.0
// Decides if asking drivers is worthwhile. Most machines only have their processor, and loading
// drivers to find that out takes time and memory.
#pragma once

#include <string>

namespace motley {

// True if there may be a graphics card or another accelerator. The kernel then has a device for one
// in `dev`, or one on the PCI bus, listed in `pci`.
bool AnyAccelerator(const std::string& dev = "/dev",
                    const std::string& pci = "/sys/bus/pci/devices");

}  // namespace motley
