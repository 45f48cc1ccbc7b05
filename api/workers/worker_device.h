// SPDX-License-Identifier: Apache-2.0
// The device of a worker, or several that are joined. Each has the wrappers that a job needs in
// front: pacing, a timeout, pauses.
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
  std::optional<Pace> pace;  // Emulated pace of all joined devices together; each gets its part.
  // A worker in this process can only be paused by holding back its results.
  bool holdable = false;
  // Limits for work on a driver; longer work has failed. Not used for the processor or for a
  // caller's trainer. The environment may change them.
  std::optional<Patience> patience = Patience();
};

// Loop thread.
class WorkerDevice {
 public:
  // Errors are those of ListedDevice::make. A driver's device is opened with its first work; if
  // that fails, the worker reports it to the server. `loop` is borrowed.
  static Result<std::unique_ptr<WorkerDevice>> Open(Loop& loop, const DeviceGroup& group,
                                                    const WorkerDeviceOptions& options);
  // Nothing may use the device any more. Waits for work in progress and closes the devices. Driver
  // work that does not return within seconds is abandoned, and its device stays open until the
  // program ends (stuck_devices.h). A caller's trainer is always waited for, because the caller
  // frees its data next.
  ~WorkerDevice();
  WorkerDevice(const WorkerDevice&) = delete;
  WorkerDevice& operator=(const WorkerDevice&) = delete;

  Device& front();
  void SetSpeed(double speed);  // No effect without a pace.
  // See HeldDevice. Precondition: holdable.
  void Hold(Duration duration);
  void Release();

 private:
  // A device and its wrappers, in order of construction.
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
  size_t computing_ = 0;                  // Chains that compute; one more may add sums on the host.
  std::unique_ptr<JoinedDevice> joined_;  // Null for one device.
};

}  // namespace motley
