// SPDX-License-Identifier: Apache-2.0
#include "sim/world/sim_devices.h"

#include <utility>

#include "devices/paced_device.h"

namespace motley {
namespace {

// Streams of the simulation's draws.
constexpr uint64_t kDeviceDraws = 2;
constexpr uint64_t kSecondDeviceDraws = 8;

}  // namespace

Status SimDevices::Open(const SimOptions& options, WorkerId index, uint64_t draws) {
  const bool two = index < options.second_devices.size() && options.second_devices[index] > 0;
  const double second = two ? options.second_devices[index] : 0;
  for (const double part : {1 - second, second}) {
    if (part == 0) continue;
    DeviceProfile profile = options.cluster.workers[index].device;
    profile.samples_per_second *= part;
    const uint64_t stream = devices_.empty() ? kDeviceDraws : kSecondDeviceDraws;
    MOTLEY_ASSIGN_OR_RETURN(
        auto device,
        SimDevice::Create(loop_, profile, Random(options.seed, Stream::kSimulation, stream, draws),
                          options.processors));
    if (options.random_faults.break_every > 0) {
      watched_.push_back(std::make_unique<WatchedDevice>(loop_, *device, kSimPatience));
    }
    devices_.push_back(std::move(device));
  }
  if (!two) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(host_, MakeInlineDevice(loop_));
  std::vector<Device*> parts;
  for (size_t i = 0; i < devices_.size(); ++i) {
    Device* const device = devices_[i].get();
    parts.push_back(watched_.empty() ? device : watched_[i].get());
  }
  joined_ = std::make_unique<JoinedDevice>(*host_, std::move(parts), host_->info().memory_bytes);
  return Status::Ok();
}

Device& SimDevices::device() {
  if (joined_ != nullptr) return *joined_;
  if (!watched_.empty()) return *watched_.front();
  return *devices_.front();
}

void SimDevices::Drop() {
  joined_.reset();
  watched_.clear();
  devices_.clear();
  host_.reset();
}

std::vector<size_t> SimDevices::Unbroken() const {
  std::vector<size_t> unbroken;
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (!devices_[i]->broken()) unbroken.push_back(i);
  }
  return unbroken;
}

void SimDevices::MultiplyScriptedSlowness(double factor) {
  scripted_slowness_ *= factor;
  SetSlowness();
}

void SimDevices::SetRandomSlowness(double factor) {
  random_slowness_ = factor;
  SetSlowness();
}

void SimDevices::SetSlowness() {
  for (const auto& device : devices_) device->SetSlowness(scripted_slowness_ * random_slowness_);
}

void SimDevices::Replay(const SimDevice::Recorded& recorded) {
  for (const auto& device : devices_) device->Replay(recorded);
}

void SimDevices::MixLastDraws(Digest& digest) {
  for (const auto& device : devices_) digest.Mix(device->LastDraw());
}

}  // namespace motley
