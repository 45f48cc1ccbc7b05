// SPDX-License-Identifier: Apache-2.0
// Injects faults into worker processes: scripted ones when their step opens, and random ones, drawn
// from the seed, until RandomFaults::until_seconds.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "base/random.h"
#include "runtime/job_event.h"
#include "sim/faults/stranger.h"
#include "sim/world/sim_process.h"

namespace motley {

class FaultDriver final : public JobObserver {
 public:
  using Workers = std::vector<std::unique_ptr<WorkerProcess>>;

  // All arguments are borrowed.
  FaultDriver(VirtualLoop& world, SimNetwork& network, const SimOptions& options, Workers& workers);
  ~FaultDriver() override { Stop(); }

  void Start();
  // Starts no further faults. Pauses and slow phases end at their time.
  void Stop();

  void OnEvent(const JobEvent& event) override;

  Time quiet_from() const { return quiet_from_; }  // When all faults so far are over.
  // Counts workers that joined, were not killed and have not been given up by the server.
  uint32_t LiveWorkers() const;
  uint64_t back_from_pause() const { return back_; }
  uint64_t restarts() const { return restarts_; }
  uint64_t broken_devices() const { return broken_; }
  // Gradients that a worker finished while one of its devices still had a piece of an earlier one.
  uint64_t done_without() const { return done_without_; }
  uint64_t garbled() const;  // Slices that were garbled.
  uint64_t cuts() const { return cuts_; }
  uint64_t leaves() const { return leaves_; }
  uint64_t visits() const { return stranger_ ? stranger_->visits() : 0; }
  uint64_t LastDraw() { return random_.Next64(); }

 private:
  void On(const event::StepOpened& event);
  void On(const event::WorkerJoined& event);
  void On(const event::WorkerLost& event);
  void On(const event::RowArrived& event);
  void On(const event::VectorArrived& event);

  // A kind of random fault.
  struct Source {
    double every;  // Mean seconds.
    void (FaultDriver::*strike)();
    TimerId timer = 0;
  };

  void Arm(Source& source);
  void OnAnswer(StepId step, WorkerId worker, Time now);
  std::vector<WorkerId> Targets() const;
  WorkerProcess* Pick();
  // Draws a duration between the two, on a logarithmic scale. It ends when faults stop at the
  // latest.
  Duration DrawDuration(double shortest_seconds, double longest_seconds);
  void Strike(const Fault& fault);
  void StrikeKill();
  void StrikePause();
  void StrikeSlow();
  void StrikePartition();
  void StrikeNan();
  void StrikeGarble();
  std::optional<StepId> StepToSpoil();
  void StrikeBreak();
  void StrikeStall();
  void StrikeCut();
  void StrikeBlackout();
  void StrikeLeave();
  void Kill(WorkerId worker);
  void Restart(WorkerId worker);
  void Pause(WorkerId worker, Duration duration);

  VirtualLoop& world_;
  SimNetwork& network_;
  const SimOptions& options_;
  Workers& workers_;
  Workers dead_;  // Earlier incarnations.
  Random random_;
  bool stopped_ = false;
  std::vector<Source> sources_;
  std::vector<bool> struck_;  // Faults of the script, by index.
  std::vector<bool> joined_;
  std::vector<bool> lost_;   // By worker: the server gave it up.
  std::vector<int> spoilt_;  // By worker: its answers that cannot be used.
  std::set<StepId> spoilt_steps_;
  StepId open_step_ = 0;
  // The newest stall of a worker, with the piece that its device had then (0: none) and the step
  // that was open.
  struct Stall {
    Time until{};
    size_t device = 0;
    uint64_t piece = 0;
    StepId step = 0;
  };
  std::vector<Stall> stalls_;
  std::vector<bool> was_paused_;
  std::vector<Time> paused_until_;
  WorkerId picked_ = 0;
  Time quiet_from_{};
  uint64_t back_ = 0;
  uint64_t restarts_ = 0;
  uint64_t broken_ = 0;
  uint64_t done_without_ = 0;
  uint64_t cuts_ = 0;
  uint64_t leaves_ = 0;
  std::unique_ptr<Stranger> stranger_;  // Null: no stranger comes.
};

}  // namespace motley
