// SPDX-License-Identifier: Apache-2.0
// What this machine's processor is (hwloc), and how fast its memory.
#pragma once

#include "devices/device.h"
#include "profiles/profile.h"
#include "runtime/uv_loop.h"

namespace motley {

// What hwloc does not find out stays empty. Cores are those that this process may use.
HardwareFacts ReadHardware();

// What the processor has several of, as "2 NUMA nodes, 4+8 threads of each kind"; else empty.
std::string ProcessorParts();

// All threads of the device read at once: the best of a few passes, in bytes per second; 0 when
// there is no memory to read. `loop` is the device's and is not running.
double MeasureMemory(UvLoop& loop, Device& device);

}  // namespace motley
