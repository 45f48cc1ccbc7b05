// SPDX-License-Identifier: Apache-2.0
// Waits for a device from the main thread, while no job is running.
#pragma once

#include "base/status.h"
#include "devices/device.h"
#include "runtime/uv_loop.h"

namespace motley {

// Runs `work` on the device, runs the loop until it is done, and returns its Status. `loop` is the
// loop of the device and is not running yet.
Status CallOnDevice(UvLoop& loop, Device& device, Device::Work work);

}  // namespace motley
