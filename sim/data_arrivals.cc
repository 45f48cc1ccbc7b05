// SPDX-License-Identifier: Apache-2.0
#include "sim/data_arrivals.h"

#include <variant>

#include "sim/world/sim_process.h"

namespace motley {
namespace {

constexpr uint32_t kSeveralSteps = 2;

}  // namespace

void DataArrivals::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void DataArrivals::On(const event::WorkerJoined& event) {
  if (event.worker >= workers_.size()) return;
  const bool came_back = workers_[event.worker].lost;
  workers_[event.worker] = Worker();
  workers_[event.worker].came_back = came_back;
  workers_[event.worker].joined = true;
  while (workers_[event.worker].process + 1 < names_.size() &&
         names_[workers_[event.worker].process] != event.name) {
    ++workers_[event.worker].process;
  }
  if (taken_ == nullptr) return;
  workers_[event.worker].taken_before = taken_(workers_[event.worker].process);
}

void DataArrivals::On(const event::WorkerLost& event) {
  if (event.worker >= workers_.size()) return;
  Worker& worker = workers_[event.worker];
  if (worker.came_back && OnTheirWay(event.worker) > 0) {
    reached_.Count("lost again while its data were under way");
  }
  worker.lost = true;
}

void DataArrivals::On(const event::CommandGiven& event) {
  const auto* place = std::get_if<PlacePartitions>(&event.command);
  if (place == nullptr || place->worker >= workers_.size()) return;
  Worker& worker = workers_[place->worker];
  for (const PartitionId p : place->partitions) {
    if (!worker.placed.insert(p).second) continue;  // A step needs a copy that is on its way.
    ++worker.sent;
    ++worker.on_their_way;
  }
}

uint64_t DataArrivals::OnTheirWay(WorkerId id) {
  if (taken_ == nullptr || id >= workers_.size() || !workers_[id].joined) return 0;
  Worker& worker = workers_[id];
  const uint64_t taken = taken_(worker.process);
  // A newer process has received fewer; the server does not know it yet.
  if (taken >= worker.taken_before + (worker.sent - worker.on_their_way)) {
    worker.on_their_way = worker.sent - (taken - worker.taken_before);
  }
  return worker.on_their_way;
}

void DataArrivals::On(const event::StepApplied&) {
  for (WorkerId id = 0; id < workers_.size(); ++id) {
    Worker& worker = workers_[id];
    if (!worker.came_back || worker.lost) continue;
    if (OnTheirWay(id) > 0) {
      ++worker.steps;
    } else if (std::exchange(worker.steps, 0) >= kSeveralSteps) {
      reached_.Count("came back, and its data took several steps");
      worker.waited = true;
    }
  }
}

void DataArrivals::Answered(WorkerId id) {
  if (id >= workers_.size() || !std::exchange(workers_[id].waited, false)) return;
  reached_.Count("computed again when its data had come");
}

}  // namespace motley
