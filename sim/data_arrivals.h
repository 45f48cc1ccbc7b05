// SPDX-License-Identifier: Apache-2.0
// Whose data have come, which only the simulated world knows: the server learns it from answers.
// Counts what becomes of workers that come back without their data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job_event.h"
#include "sim/reached_states.h"

namespace motley {

class DataArrivals final : public JobObserver {
 public:
  // How many blocks of data the newest process of this number has taken, whole.
  using Taken = std::function<uint64_t(WorkerId process)>;

  // `reached` is borrowed; `names`: of all processes. A null `taken`: the workers have their
  // samples from elsewhere.
  DataArrivals(ReachedStates& reached, std::vector<std::string> names, Taken taken)
      : reached_(reached),
        names_(std::move(names)),
        taken_(std::move(taken)),
        workers_(names_.size()) {}

  void OnEvent(const JobEvent& event) override;

  // Blocks that were sent to it and are not there.
  uint64_t OnTheirWay(WorkerId worker);
  // Whose profile this worker has: one that comes back may get another's place.
  WorkerId ProcessOf(WorkerId worker) const { return workers_[worker].process; }

 private:
  void On(const event::WorkerJoined& event);
  void On(const event::WorkerLost& event);
  void On(const event::CommandGiven& event);
  void On(const event::RowArrived& event) { Answered(event.worker); }
  void On(const event::VectorArrived& event) { Answered(event.worker); }
  void On(const event::StepApplied& event);

  struct Worker {
    bool joined = false;
    bool lost = false;
    WorkerId process = 0;    // That has its place, by its name.
    bool came_back = false;  // It was lost before.
    bool waited = false;     // Its data came after several steps, and it has not answered since.
    uint32_t steps = 0;      // That were applied while data were on their way.
    uint64_t sent = 0;
    uint64_t taken_before = 0;  // Of earlier connections.
    uint64_t on_their_way = 0;  // When they were last counted.
  };
  void Answered(WorkerId worker);

  ReachedStates& reached_;
  const std::vector<std::string> names_;  // Of the processes.
  const Taken taken_;
  std::vector<Worker> workers_;
};

}  // namespace motley
