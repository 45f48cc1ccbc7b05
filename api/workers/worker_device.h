// SPDX-License-Identifier: Apache-2.0
// What a worker computes with: a device or several that are joined, and in front of each what a job
// wants there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "api/workers/held_device.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "devices/device_list.h"
#include "devices/joined_device.h"
#include "devices/paced_device.h"
#include "devices/watched_device.h"

namespace motley {

struct WorkerDeviceOptions {
  uint32_t threads = 0;
  std::optional<Pace> pace;  // Emulated; of joined devices all together, each has its part.
  bool holdable = false;     // A worker of this process, which can only be paused like that.
  // Work that takes longer has failed; not asked where the caller's own code computes, nor of the
  // processor. Unless the environment says so.
  std::optional<Patience> patience = Patience();
};

// Loop thread.
class WorkerDevice {
 public:
  // As of ListedDevice::make: a driver's device is opened with its first work, and its worker tells
  // the server when it cannot be. `loop` is borrowed.
  static Result<std::unique_ptr<WorkerDevice>> Open(Loop& loop, const DeviceGroup& group,
                                                    const WorkerDeviceOptions& options);
  // Nobody uses it any more. Waits for work in progress, and until devices are closed. A driver's
  // work that does not come back within seconds is left behind, and its device stays until the
  // program ends (stuck_devices.h); the caller's own code is waited for, because it uses what the
  // caller frees next.
  ~WorkerDevice();
  WorkerDevice(const WorkerDevice&) = delete;
  WorkerDevice& operator=(const WorkerDevice&) = delete;

  Device& front();
  void SetSpeed(double speed);  // Of its pace, if it has one.
  // As HeldDevice; it is holdable.
  void Hold(Duration duration);
  void Release();

 private:
  // A device in the order it must be taken down.
  struct Chain {
    std::unique_ptr<Device> device;
    std::unique_ptr<PacedDevice> paced;
    std::unique_ptr<WatchedDevice> watched;
    std::unique_ptr<HeldDevice> held;

    Device& front();
  };

  explicit WorkerDevice(bool callers_code) : callers_code_(callers_code) {}
  static Result<std::shared_ptr<Chain>> OpenChain(Loop& loop, const ListedDevice& listed,
                                                  const WorkerDeviceOptions& options);
  Status Join(Loop& loop, const DeviceGroup& group, const WorkerDeviceOptions& options);

  const bool callers_code_;
  std::vector<std::shared_ptr<Chain>> chains_;
  size_t computing_ = 0;                  // Of them; one more may be the host's processor for sums.
  std::unique_ptr<JoinedDevice> joined_;  // Null with one device.
};

}  // namespace motley
