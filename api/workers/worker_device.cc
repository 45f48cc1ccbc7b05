// SPDX-License-Identifier: Apache-2.0
#include "api/workers/worker_device.h"

#include <utility>

#include "devices/drivers/stuck_devices.h"

namespace motley {
namespace {

// Work takes far less. Ending a job waits no longer than this for a device that hangs.
constexpr Duration kRestLimit = std::chrono::seconds(10);
constexpr Duration kForever = std::chrono::hours(24 * 365);

}  // namespace

Result<std::shared_ptr<WorkerDevice::Chain>> WorkerDevice::OpenChain(
    Loop& loop, const ListedDevice& listed, const WorkerDeviceOptions& options) {
  const auto chain = std::make_shared<Chain>();
  MOTLEY_ASSIGN_OR_RETURN(chain->device, listed.make(loop, options.threads));
  if (options.pace) chain->paced = MakePacedDevice(loop, chain->front(), *options.pace);
  if (options.patience && listed.kind != DeviceKind::kCpu) {
    chain->watched =
        std::make_unique<WatchedDevice>(loop, chain->front(), *options.patience, listed.ended);
  }
  if (options.holdable) chain->held = std::make_unique<HeldDevice>(loop, chain->front());
  return chain;
}

Result<std::unique_ptr<WorkerDevice>> WorkerDevice::Open(Loop& loop, const DeviceGroup& group,
                                                         const WorkerDeviceOptions& options) {
  std::unique_ptr<WorkerDevice> made(new WorkerDevice(!options.patience));
  made->computing_ = group.devices.size();
  WorkerDeviceOptions each = options;
  if (each.pace) each.pace->speed /= static_cast<double>(group.devices.size());
  for (const ListedDevice& listed : group.devices) {
    MOTLEY_ASSIGN_OR_RETURN(std::shared_ptr<Chain> chain, OpenChain(loop, listed, each));
    made->chains_.push_back(std::move(chain));
  }
  if (group.joined()) MOTLEY_RETURN_IF_ERROR(made->Join(loop, group, options));
  return made;
}

// The host's processor adds the sums, even if it does not compute.
Status WorkerDevice::Join(Loop& loop, const DeviceGroup& group,
                          const WorkerDeviceOptions& options) {
  std::vector<Device*> parts;
  Device* host = nullptr;
  for (size_t i = 0; i < group.devices.size(); ++i) {
    parts.push_back(&chains_[i]->front());
    if (group.devices[i].kind == DeviceKind::kCpu) host = parts.back();
  }
  if (host == nullptr) {
    WorkerDeviceOptions sums = options;
    sums.pace.reset();
    MOTLEY_ASSIGN_OR_RETURN(const auto processor, ChooseDevices(std::string()));
    MOTLEY_ASSIGN_OR_RETURN(std::shared_ptr<Chain> chain,
                            OpenChain(loop, processor.front().devices.front(), sums));
    host = &chain->front();
    chains_.push_back(std::move(chain));
  }
  joined_ = std::make_unique<JoinedDevice>(*host, std::move(parts), group.memory_bytes());
  return Status::Ok();
}

WorkerDevice::~WorkerDevice() {
  for (std::shared_ptr<Chain>& chain : chains_) {
    const bool lost = chain->watched != nullptr && chain->watched->lost();
    const Duration limit = callers_code_ ? kForever : kRestLimit;
    if (chain->device->Rest(lost ? Duration::zero() : limit)) continue;
    chain->device->Abandon();
    KeepForever(std::move(chain));
  }
}

Device& WorkerDevice::Chain::front() {
  if (held) return *held;
  if (watched) return *watched;
  if (paced) return *paced;
  return *device;
}

Device& WorkerDevice::front() { return joined_ != nullptr ? *joined_ : chains_.front()->front(); }

void WorkerDevice::SetSpeed(double speed) {
  for (const auto& chain : chains_) {
    if (chain->paced) chain->paced->SetSpeed(speed / static_cast<double>(computing_));
  }
}

void WorkerDevice::Hold(Duration duration) {
  for (const auto& chain : chains_) chain->held->Hold(duration);
}

void WorkerDevice::Release() {
  for (const auto& chain : chains_) chain->held->Release();
}

}  // namespace motley
