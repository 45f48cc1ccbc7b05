// SPDX-License-Identifier: Apache-2.0
// Knows which workers have received all of their data. The server learns it from messages; the
// simulated world knows it at once. Counts what becomes of workers that come back without data.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job_event.h"
#include "sim/reached_states.h"

namespace motley {

class DataArrivals final : public JobObserver {
 public:
  // Returns how many whole blocks of data the newest process of this number has received.
  using Taken = std::function<uint64_t(WorkerId process)>;

  // `reached` is borrowed. `names` has the names of all processes. `taken` is null if workers have
  // their samples from elsewhere.
  DataArrivals(ReachedStates& reached, std::vector<std::string> names, Taken taken)
      : reached_(reached),
        names_(std::move(names)),
        taken_(std::move(taken)),
        workers_(names_.size()) {}

  void OnEvent(const JobEvent& event) override;

  // Blocks that were sent to the worker and have not arrived.
  uint64_t OnTheirWay(WorkerId worker);
  // The process behind this worker; its profile applies. A process that comes back may get another
  // one's place.
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
    WorkerId process = 0;    // The process that has this place, found by name.
    bool came_back = false;  // It was lost before.
    bool waited = false;     // Its data came after several steps, and it has not answered since.
    uint32_t steps = 0;      // Steps that were applied while data were on their way.
    std::set<PartitionId> placed;  // On this connection.
    uint64_t sent = 0;             // Blocks.
    uint64_t taken_before = 0;     // Blocks received on earlier connections.
    uint64_t on_their_way = 0;     // As last counted.
  };
  void Answered(WorkerId worker);

  ReachedStates& reached_;
  const std::vector<std::string> names_;  // Names of the processes.
  const Taken taken_;
  std::vector<Worker> workers_;
};

}  // namespace motley
