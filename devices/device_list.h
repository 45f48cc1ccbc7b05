// SPDX-License-Identifier: Apache-2.0
// The devices of this machine, from every available driver.
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
  std::string driver;  // A name of base/device_kind.h: "cpu", "cuda".
  uint32_t index = 0;  // Among the driver's devices: "opencl:1".
  std::string name;    // "NVIDIA H100 80GB HBM3"; empty if the driver found no device.
  std::string platform;
  DeviceKind kind = DeviceKind::kCpu;
  uint64_t memory_bytes = 0;
  uint32_t units = 0;         // Threads, compute units, multiprocessors.
  bool is_processor = false;  // The host's processor, which drivers may list again.
  std::string reason;         // Why the device cannot be used; empty when it can.
  // Makes the device; null if there is none. `loop` must outlive the device. A device on the host's
  // processor uses at most `threads` threads (0: all). The first work opens a driver's device.
  std::function<Result<std::unique_ptr<Device>>(Loop& loop, uint32_t threads)> make;
  // Returns an error once work on the device can never return (driver_aborts.h). Null: that cannot
  // happen.
  std::function<Status()> ended;

  bool usable() const { return make && reason.empty(); }
  std::string Label() const;  // "opencl:1"
};

// The devices of one worker: one device, or several joined ones.
struct DeviceGroup {
  std::vector<ListedDevice> devices;  // One or more.

  std::string Label() const;  // "cuda:0+cpu:0"
  std::string Names() const;  // The devices' names, for messages.
  bool joined() const { return devices.size() > 1; }
  bool is_processor() const;      // True if the host's processor is the only member.
  uint64_t memory_bytes() const;  // The sum; the host's memory counts once.
};

// Lists all devices, the host's processor first. A driver that found nothing has one entry with the
// reason. Every call asks the machine again. Any thread, unless another thread changes signal
// handlers meanwhile.
std::vector<ListedDevice> ListDevices();

// The default choice from `list`, in its order: all usable devices without duplicates. Duplicates
// are the host's processor under another driver, and devices that an earlier driver lists by the
// same name (a card of CUDA is also OpenCL's).
std::vector<ListedDevice> DefaultDevices(const std::vector<ListedDevice>& list);
// The default choice on this machine; drivers are asked only if AnyAccelerator. Never empty.
Result<std::vector<ListedDevice>> DefaultDevices();
// kUnavailable with the reasons why no device in `list` can be used.
Status NoUsableDevice(const std::vector<ListedDevice>& list);

// The devices of this machine that `choice` names; drivers that it does not need are not loaded.
// Empty: the host's processor.
Result<std::vector<DeviceGroup>> ChooseDevices(const std::string& choice);

// The devices from `list` that `choice` names, in its order: "cpu", "opencl" (all usable ones of a
// driver), "cuda:0", several with commas. Devices joined by "+" form one group. kInvalidArgument:
// an unknown driver, a duplicate, or a malformed choice. kUnavailable: a named device cannot be
// used here; the text has the reason.
Result<std::vector<DeviceGroup>> ChooseDevices(const std::vector<ListedDevice>& list,
                                               const std::string& choice);

// Puts each device into a group of its own.
std::vector<DeviceGroup> EachAlone(const std::vector<ListedDevice>& devices);

}  // namespace motley
