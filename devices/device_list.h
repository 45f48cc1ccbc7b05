// SPDX-License-Identifier: Apache-2.0
// The devices of this machine, of every driver there is: one hand-written list.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "devices/device.h"

namespace motley {

struct ListedDevice {
  std::string driver;  // "cpu", "cuda", "opencl"
  uint32_t index = 0;  // Among the driver's devices: "opencl:1".
  std::string name;    // "NVIDIA H100 80GB HBM3"; empty: the driver found no device.
  std::string platform;
  DeviceKind kind = DeviceKind::kCpu;
  uint64_t memory_bytes = 0;
  uint32_t units = 0;         // Threads, compute units, multiprocessors.
  bool is_processor = false;  // The host's, which drivers may have once more.
  std::string reason;         // Why it cannot be used; empty when it can.
  // With at most so many of the host's threads where the device is the host's processor (0: all).
  // `loop` must outlive the device. Null without a device. A driver's is opened by its first work.
  std::function<Result<std::unique_ptr<Device>>(Loop& loop, uint32_t threads)> make;
  // Not fine once work on it never comes back (driver_aborts.h); null: that does not happen.
  std::function<Status()> ended;

  bool usable() const { return make && reason.empty(); }
  std::string Label() const;  // "opencl:1"
};

// What computes for one worker: a device, or several of the machine that are joined.
struct DeviceGroup {
  std::vector<ListedDevice> devices;  // One or more.

  std::string Label() const;  // "cuda:0+cpu:0"
  std::string Names() const;  // Of the devices, for people.
  bool joined() const { return devices.size() > 1; }
  bool is_processor() const;      // It is nothing but the host's processor.
  uint64_t memory_bytes() const;  // Together; what is the host's memory counts once.
};

// What there is, the host's processor first; a driver that found nothing has one entry with the
// reason. Asks the machine anew each time. Any thread, while no other changes what signals do.
std::vector<ListedDevice> ListDevices();

// Those of `list` that are used when nobody names any, in its order: all that can be used, but not
// the host's processor once more, nor what a driver before lists under the same name: a card that
// CUDA has is OpenCL's, too.
std::vector<ListedDevice> DefaultDevices(const std::vector<ListedDevice>& list);
// The same of this machine, where drivers are only asked if AnyAccelerator. One or more.
Result<std::vector<ListedDevice>> DefaultDevices();
// kUnavailable: why none of `list` can be used.
Status NoUsableDevice(const std::vector<ListedDevice>& list);

// The devices that `choice` names of this machine's, without a look at drivers that it does not
// need. Empty: the host's processor.
Result<std::vector<DeviceGroup>> ChooseDevices(const std::string& choice);

// The devices that `choice` names, in its order, from `list`: "cpu", "opencl" (all of a driver's
// that work), "cuda:0", several with commas; what is joined by "+" is one group. kInvalidArgument:
// no such driver, said twice, or not a choice at all; kUnavailable with the reason: what is named
// cannot be used here.
Result<std::vector<DeviceGroup>> ChooseDevices(const std::vector<ListedDevice>& list,
                                               const std::string& choice);

// Each by itself.
std::vector<DeviceGroup> EachAlone(const std::vector<ListedDevice>& devices);

}  // namespace motley
