// SPDX-License-Identifier: Apache-2.0
#include "api/workers/local_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/memory_need.h"

namespace motley {

std::string WorkerName(int32_t index, const DeviceGroup& devices) {
  const std::string name = index < 0 ? "worker" : fmt::format("worker-{}", index);
  const bool plain = !devices.joined() && devices.devices.front().kind == DeviceKind::kCpu;
  return plain ? name : fmt::format("{} {}", name, devices.Label());
}

std::vector<DeviceGroup> DevicesOfWorkers(const std::vector<DeviceGroup>& devices, bool named,
                                          uint32_t workers) {
  std::vector<DeviceGroup> each, turns = devices;
  if (!named) {
    const auto processors = std::stable_partition(
        turns.begin(), turns.end(), [](const DeviceGroup& group) { return !group.is_processor(); });
    each.assign(turns.begin(), processors);
    if (processors != turns.end()) turns.erase(turns.begin(), processors);
  }
  for (size_t turn = 0; each.size() < workers; ++turn) each.push_back(turns[turn % turns.size()]);
  each.resize(workers);
  return each;
}

DeviceGroup DevicesOfOne(const std::vector<ListedDevice>& defaults) {
  DeviceGroup cards;
  std::copy_if(defaults.begin(), defaults.end(), std::back_inserter(cards.devices),
               [](const ListedDevice& device) { return !device.is_processor; });
  return cards.devices.empty() ? DeviceGroup{defaults} : cards;
}

Status CheckAllUsed(const std::vector<DeviceGroup>& devices, uint32_t workers) {
  if (devices.size() <= workers) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "these are the devices of {} workers, and with `workers` {} no worker would use {}. Use "
      "`workers` {}, or put a plus between devices of one worker",
      devices.size(), workers, devices[workers].Label(), devices.size()));
}

Status CheckTogether(const JobOptions& job, uint64_t parameters,
                     const std::vector<DeviceGroup>& devices, uint64_t memory_bytes) {
  uint64_t vectors = ServerVectors(job);
  for (const DeviceGroup& group : devices) {
    vectors += WorkerVectors(job.wire) + (group.joined() ? group.devices.size() : 0);
  }
  return CheckMemory(fmt::format("the server and its {} workers on this machine", devices.size()),
                     parameters, vectors, memory_bytes);
}

Status CheckNotJoined(const std::vector<DeviceGroup>& devices) {
  for (const DeviceGroup& group : devices) {
    if (!group.joined()) continue;
    return Status::InvalidArgument(
        fmt::format("a program's own trainer computes on one device per worker, but {} are joined: "
                    "put commas between them",
                    group.Label()));
  }
  return Status::Ok();
}

}  // namespace motley
