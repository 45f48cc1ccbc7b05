// SPDX-License-Identifier: Apache-2.0
// The simulated devices of one process: a single one, or two that are joined.
#pragma once

#include <memory>
#include <vector>

#include "devices/joined_device.h"
#include "devices/watched_device.h"
#include "sim/digest.h"
#include "sim/sim_cluster.h"
#include "sim/world/sim_device.h"

namespace motley {

// Timeouts for devices that may break. Work on a healthy device rarely takes longer.
inline constexpr Patience kSimPatience{.first = std::chrono::seconds(5),
                                       .least = std::chrono::seconds(5)};

class SimDevices {
 public:
  explicit SimDevices(Loop& loop) : loop_(loop) {}

  // Opens the devices of worker `index`. `draws` numbers the streams of their draws.
  Status Open(const SimOptions& options, WorkerId index, uint64_t draws);
  void Drop();
  Device& device();  // The device that the node uses.

  SimDevice& operator[](size_t number) { return *devices_[number]; }
  const SimDevice& operator[](size_t number) const { return *devices_[number]; }
  std::vector<size_t> Unbroken() const;
  bool broken() const { return !devices_.empty() && Unbroken().empty(); }
  // Scripted and random slowness multiply.
  void MultiplyScriptedSlowness(double factor);
  void SetRandomSlowness(double factor);
  void Replay(const SimDevice::Recorded& recorded);
  void MixLastDraws(Digest& digest);

 private:
  void SetSlowness();

  Loop& loop_;
  std::vector<std::unique_ptr<SimDevice>> devices_;
  std::vector<std::unique_ptr<WatchedDevice>> watched_;  // In front of devices that may break.
  std::unique_ptr<Device> host_;                         // Adds the sums of joined devices.
  std::unique_ptr<JoinedDevice> joined_;                 // Null: one device.
  double scripted_slowness_ = 1;
  double random_slowness_ = 1;
};

}  // namespace motley
