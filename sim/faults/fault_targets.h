// SPDX-License-Identifier: Apache-2.0
// The workers that faults strike, and what several kinds of faults share: the random draws, the
// limits on what may go wrong at the same time, and the books on who is there.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "base/random.h"
#include "runtime/job_event.h"
#include "sim/world/sim_process.h"

namespace motley {

class FaultTargets {
 public:
  using Workers = std::vector<std::unique_ptr<WorkerProcess>>;

  // All arguments are borrowed.
  FaultTargets(VirtualLoop& world, SimNetwork& network, const SimOptions& options,
               Workers& workers);

  // Nothing comes back from now on.
  void Stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  void OnEvent(const JobEvent& event);

  Time Now() const { return world_.Now(); }
  VirtualLoop& world() { return world_; }
  SimNetwork& network() { return network_; }
  const SimOptions& options() const { return options_; }
  Random& random() { return random_; }
  StepId open_step() const { return open_step_; }
  WorkerProcess& operator[](WorkerId worker) { return *workers_[worker]; }
  const Workers& workers() const { return workers_; }
  const Workers& dead() const { return dead_; }  // Earlier incarnations.
  bool joined(WorkerId worker) const { return seats_[worker].joined; }

  // Workers that a fault may strike.
  std::vector<WorkerId> All() const;
  std::optional<WorkerId> Pick();
  // Picks a worker only if another one is left.
  std::optional<WorkerId> PickNotLast() { return All().size() < 2 ? std::nullopt : Pick(); }
  struct Spoilt {
    WorkerId worker;
    StepId step;
  };
  // Picks a worker that is to spoil its answer for the next step; none if the limits forbid it.
  std::optional<Spoilt> PickToSpoil();
  // Draws a duration between the two, on a logarithmic scale. It ends when faults stop at the
  // latest.
  Duration DrawDuration(double shortest_seconds, double longest_seconds);
  // A fault lasts until `time`.
  void DisturbUntil(Time time) { quiet_from_ = std::max(quiet_from_, time); }

  void Kill(WorkerId worker);
  void Restart(WorkerId worker);
  void Pause(WorkerId worker, Duration duration);

  Time quiet_from() const { return quiet_from_; }  // When all faults so far are over.
  // Counts workers that joined, were not killed and have not been given up by the server.
  uint32_t LiveWorkers() const;
  uint64_t back_from_pause() const { return back_; }
  uint64_t restarts() const { return restarts_; }

 private:
  struct Seat {
    bool joined = false;
    bool lost = false;  // The server gave the worker up.
    int spoilt = 0;     // Its answers that cannot be used.
    bool was_paused = false;
    Time paused_until{};
  };

  void OnAnswer(WorkerId worker, Time now);

  VirtualLoop& world_;
  SimNetwork& network_;
  const SimOptions& options_;
  Workers& workers_;
  Workers dead_;
  Random random_;
  bool stopped_ = false;
  std::vector<Seat> seats_;  // By worker.
  std::set<StepId> spoilt_steps_;
  StepId open_step_ = 0;
  Time quiet_from_{};
  uint64_t back_ = 0, restarts_ = 0;
};

}  // namespace motley
