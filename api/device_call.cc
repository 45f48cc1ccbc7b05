// SPDX-License-Identifier: Apache-2.0
#include "api/device_call.h"

#include <utility>

namespace motley {

Status CallOnDevice(UvLoop& loop, Device& device, Device::Work work) {
  Status result;
  device.Submit(0, std::move(work), [&](Status status) {
    result = std::move(status);
    loop.Stop();
  });
  loop.Run();
  return result;
}

}  // namespace motley
