// SPDX-License-Identifier: Apache-2.0
#include "api/worker_device.h"

#include <fmt/format.h>

#include <utility>

#include "devices/broken_device.h"
#include "devices/stuck_devices.h"

namespace motley {
namespace {

// Work takes far less; who ends a job waits no longer for a device that hangs.
constexpr Duration kRestLimit = std::chrono::seconds(10);

Result<std::unique_ptr<Device>> OpenOrStandIn(Loop& loop, const ListedDevice& listed,
                                              uint32_t threads) {
  auto opened = listed.make(loop, threads);
  if (opened.ok() || listed.kind == DeviceKind::kCpu) return opened;
  return MakeBrokenDevice(loop,
                          {.name = fmt::format("{} {}", listed.driver, listed.name),
                           .kind = listed.kind,
                           .memory_bytes = listed.memory_bytes},
                          opened.status());
}

}  // namespace

Result<std::unique_ptr<WorkerDevice>> WorkerDevice::Open(Loop& loop, const ListedDevice& listed,
                                                         const WorkerDeviceOptions& options) {
  std::unique_ptr<WorkerDevice> made(new WorkerDevice());
  Parts& parts = *made->parts_;
  MOTLEY_ASSIGN_OR_RETURN(parts.device, OpenOrStandIn(loop, listed, options.threads));
  if (options.pace) parts.paced = MakePacedDevice(loop, made->front(), *options.pace);
  if (options.patience && listed.kind != DeviceKind::kCpu) {
    parts.watched = std::make_unique<WatchedDevice>(loop, made->front(), *options.patience);
  }
  if (options.holdable) parts.held = std::make_unique<HeldDevice>(loop, made->front());
  return made;
}

WorkerDevice::~WorkerDevice() {
  if (parts_->device == nullptr) return;
  const bool lost = parts_->watched != nullptr && parts_->watched->lost();
  if (parts_->device->Rest(lost ? Duration::zero() : kRestLimit)) return;
  parts_->device->Abandon();
  KeepForever(std::move(parts_));
}

Device& WorkerDevice::front() {
  if (parts_->held) return *parts_->held;
  if (parts_->watched) return *parts_->watched;
  if (parts_->paced) return *parts_->paced;
  return *parts_->device;
}

}  // namespace motley
