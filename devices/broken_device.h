// SPDX-License-Identifier: Apache-2.0
// The place of a device that cannot be opened: its worker joins, and leaves with the reason at
// once, so that it is the server that says which worker is missing, and why.
#pragma once

#include <memory>

#include "base/loop.h"
#include "base/status.h"
#include "devices/device.h"

namespace motley {

// All work ends with `why` (not fine), and is not done. `loop` is borrowed.
std::unique_ptr<Device> MakeBrokenDevice(Loop& loop, DeviceInfo info, Status why);

}  // namespace motley
