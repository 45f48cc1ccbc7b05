// SPDX-License-Identifier: Apache-2.0
// Loads drivers at run time (driver.h), and makes devices of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "devices/device.h"
#include "devices/drivers/driver.h"

namespace motley {

struct DriverModule {
  std::string name;                       // "opencl"
  const motley_driver* driver = nullptr;  // Null if it cannot be loaded.
  std::string reason;                     // Why it cannot be loaded.
};
// The names of all possible drivers: those of kDeviceKinds, without the processor.
std::vector<std::string_view> DriverNames();

// Loads motley-NAME.so from the first folder that has it; it stays loaded until the program ends.
// Any thread: calls of this and of FindDriverDevices wait for one another. They restore all signal
// handlers afterwards, so no other thread may change these meanwhile.
DriverModule LoadDriverModule(std::string_view name, const std::vector<std::string>& folders);

// The devices that the driver finds now, usable or not. If there are none, `reason` says why. Same
// threads as LoadDriverModule.
std::vector<motley_driver_device> FindDriverDevices(const motley_driver& driver,
                                                    std::string& reason);

// Makes a device that a driver found, with a thread of its own. Compiled kernels are kept between
// runs in `kernels_folder` (empty: nowhere). `loop` must outlive the device. kUnavailable with the
// driver's reason if the device cannot be used.
//
// The first work, or the first Allocate, opens the device; Rest closes it. Both happen on the
// device's thread, so a driver that hangs there looks like work that does not return. If the device
// cannot be opened, or its kernels have another version, all its work fails with the reason.
// kernels() is valid once it is open.
Result<std::unique_ptr<Device>> MakeDriverDevice(Loop& loop, const motley_driver& driver,
                                                 const motley_driver_device& found,
                                                 const std::string& kernels_folder);

}  // namespace motley
