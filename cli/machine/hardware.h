// SPDX-License-Identifier: Apache-2.0
// Describes this machine's processor (hwloc), and measures its memory.
#pragma once

#include "devices/device.h"
#include "profiles/profile.h"
#include "runtime/uv_loop.h"

namespace motley {

// Facts unknown to hwloc stay empty. Cores are those that this process may use.
HardwareFacts ReadHardware();

// The parts of a processor that has several, like "2 NUMA nodes, 4+8 threads of each kind"; else
// empty.
std::string ProcessorParts();

// Measures memory bandwidth in bytes per second, with all threads of the device reading at once:
// the best of a few passes. 0 if there is no memory to read. `loop` is the loop of the device and
// is not running yet.
double MeasureMemory(UvLoop& loop, Device& device);

}  // namespace motley
