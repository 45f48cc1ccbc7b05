// SPDX-License-Identifier: Apache-2.0
// The device drivers there are: one hand-written list.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/status.h"
#include "devices/device.h"

namespace motley {

struct Driver {
  std::string name;    // "cpu"
  std::string reason;  // Why it cannot be used here; empty when it can.
  // A device with the driver's own defaults; `loop` must outlive it.
  std::function<Result<std::unique_ptr<Device>>(Loop& loop)> make;
};

// In the order they are preferred. Asks this machine anew each time.
std::vector<Driver> Drivers();

}  // namespace motley
