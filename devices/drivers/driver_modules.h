// SPDX-License-Identifier: Apache-2.0
// The drivers that are loaded at run time (driver.h), and devices over them.
#pragma once

#include <memory>
#include <span>
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
  const motley_driver* driver = nullptr;  // Null when it cannot be loaded.
  std::string reason;                     // Why not.
};
// Those that there can be: "cuda", "opencl".
std::span<const std::string_view> DriverNames();

// motley-NAME.so from the first folder that has it, loaded until the program ends. Any thread:
// those of a process take turns here and in FindDriverDevices. What signals do is afterwards as
// before, so no other thread may change that meanwhile.
DriverModule LoadDriverModule(std::string_view name, const std::vector<std::string>& folders);

// What a driver finds now, usable or not; nothing: `reason` says why. As LoadDriverModule.
std::vector<motley_driver_device> FindDriverDevices(const motley_driver& driver,
                                                    std::string& reason);

// A device that a driver found; with a thread of its own and `kernels_folder`, where compiled
// kernels are kept between runs (empty: nowhere). `loop` must outlive it. kUnavailable with the
// driver's own words when it is none that can be used.
// Its first work opens it (or who wants memory before), and Rest closes it, on that thread: a
// driver that hangs there is work that does not come back. All work of one that cannot be opened,
// or whose kernels are none of this release, ends with the reason. It has its kernels when it is
// open.
Result<std::unique_ptr<Device>> MakeDriverDevice(Loop& loop, const motley_driver& driver,
                                                 const motley_driver_device& found,
                                                 const std::string& kernels_folder);

}  // namespace motley
