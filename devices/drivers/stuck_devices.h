// SPDX-License-Identifier: Apache-2.0
// Keeps devices with work that never returned. Their threads are inside a driver and cannot be
// ended, so everything they use must live until the program ends.
#pragma once

#include <memory>

namespace motley {

// Any thread. `parts` is an abandoned device with everything its work refers to.
void KeepForever(std::shared_ptr<void> parts);
// True if a device is kept. The program should then end with _exit: at a normal exit, drivers would
// wait for their hardware.
bool AnyDeviceStuck();

}  // namespace motley
