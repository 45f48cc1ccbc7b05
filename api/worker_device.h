// SPDX-License-Identifier: Apache-2.0
// What a worker computes with: a device, and in front of it what a job wants there.
#pragma once

#include <memory>
#include <optional>

#include "api/held_device.h"
#include "base/loop.h"
#include "base/status.h"
#include "devices/device_list.h"
#include "devices/paced_device.h"
#include "devices/watched_device.h"

namespace motley {

struct WorkerDeviceOptions {
  uint32_t threads = 0;
  std::optional<Pace> pace;  // Emulated.
  bool holdable = false;     // A worker of this process, which can only be paused like that.
  // Work that takes longer has failed; not asked where the caller's own code computes, nor of the
  // processor. Unless the environment says so.
  std::optional<Patience> patience = Patience();
};

// Loop thread.
class WorkerDevice {
 public:
  // A driver's device that cannot be opened is no failure here: its worker tells the server.
  // Otherwise as of ListedDevice::make. `loop` is borrowed.
  static Result<std::unique_ptr<WorkerDevice>> Open(Loop& loop, const ListedDevice& listed,
                                                    const WorkerDeviceOptions& options);
  // Nobody uses it any more. Waits for work in progress; for what does not come back soon, a few
  // seconds, after which the device stays until the program ends (stuck_devices.h).
  ~WorkerDevice();
  WorkerDevice(const WorkerDevice&) = delete;
  WorkerDevice& operator=(const WorkerDevice&) = delete;

  Device& front();
  PacedDevice* paced() const { return parts_->paced.get(); }  // Null without a pace.
  HeldDevice* held() const { return parts_->held.get(); }     // Null unless holdable.

 private:
  // In the order they must be taken down.
  struct Parts {
    std::unique_ptr<Device> device;
    std::unique_ptr<PacedDevice> paced;
    std::unique_ptr<WatchedDevice> watched;
    std::unique_ptr<HeldDevice> held;
  };

  WorkerDevice() : parts_(std::make_shared<Parts>()) {}

  std::shared_ptr<Parts> parts_;
};

}  // namespace motley
