// SPDX-License-Identifier: Apache-2.0
// Waits for a device from the main thread, while no job is running.
#pragma once

#include "base/status.h"
#include "devices/device.h"
#include "runtime/uv_loop.h"

namespace motley {

// Runs `work` on the device and the loop until it is done; its Status. `loop` is the device's and
// is not running.
Status CallOnDevice(UvLoop& loop, Device& device, Device::Work work);

}  // namespace motley
