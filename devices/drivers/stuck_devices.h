// SPDX-License-Identifier: Apache-2.0
// Devices whose work never came back. Their threads are still inside of a driver and cannot be
// ended, so what they use stays until the program ends.
#pragma once

#include <memory>

namespace motley {

// Any thread. `parts`: an abandoned device and all that its work refers to.
void KeepForever(std::shared_ptr<void> parts);
// Whether something is kept. A program had better end by _exit then: drivers wait at the orderly
// end for what their hardware does.
bool AnyDeviceStuck();

}  // namespace motley
