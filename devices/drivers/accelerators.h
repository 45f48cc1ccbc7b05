// SPDX-License-Identifier: Apache-2.0
// Whether it is worth while to ask drivers: most machines have nothing but their processor, and
// loading the libraries of drivers to learn that takes time and memory.
#pragma once

#include <string>

namespace motley {

// Whether a graphics card or the like can be here: the kernel has a driver's device for one in
// `dev`, or one on the PCI bus, listed in `pci`.
bool AnyAccelerator(const std::string& dev = "/dev",
                    const std::string& pci = "/sys/bus/pci/devices");

}  // namespace motley
