// SPDX-License-Identifier: Apache-2.0
// One of two joined devices reports nothing for 1.5 to 3 s, and then everything. This is long
// enough for the other device to take over its work, and too short to count as a loss.
#include <map>
#include <variant>
#include <vector>

#include "sim/faults/random_fault.h"

namespace motley {
namespace {

constexpr char kState[] = "gradient without a late device";

class StallFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  // Stalls a device only while the worker's other device can do all of the work.
  void Strike() override {
    const auto worker = targets_.Pick();
    if (!worker) return;
    WorkerProcess& process = targets_[*worker];
    Stall& stall = stalls_[*worker];
    if (stall.process == &process && targets_.Now() < stall.until) return;
    const std::vector<size_t> devices = process.devices().Unbroken();
    if (devices.size() < 2) return;
    const size_t number = devices[targets_.random().Below(devices.size())];
    const SimDevice& device = process.devices()[number];
    const Time until = targets_.Now() + targets_.DrawDuration(1.5, 3);
    const uint64_t piece = device.busy() ? device.begun() : 0;
    stall = {&process, until, number, piece, targets_.open_step()};
    process.devices()[number].Stall(until);
  }

  void OnEvent(const JobEvent& event) override {
    if (const auto* row = std::get_if<event::RowArrived>(&event)) OnAnswer(row->step, row->worker);
    if (const auto* vector = std::get_if<event::VectorArrived>(&event)) {
      OnAnswer(vector->step, vector->worker);
    }
  }
  std::map<std::string, uint64_t> Reached() const override { return {{kState, done_without_}}; }

 private:
  // The newest stall of a worker, with the piece that its device had then (0: none) and the step
  // that was open.
  struct Stall {
    const WorkerProcess* process = nullptr;
    Time until{};
    size_t device = 0;
    uint64_t piece = 0;
    StepId step = 0;
  };

  // Counts gradients that a worker finished while its stalled device still had an earlier piece.
  void OnAnswer(StepId step, WorkerId worker) {
    const auto found = stalls_.find(worker);
    if (found == stalls_.end()) return;
    Stall& stall = found->second;
    WorkerProcess& process = targets_[worker];
    if (stall.process != &process || stall.piece == 0 || step <= stall.step) return;
    if (!process.alive()) return;
    const SimDevice& device = process.devices()[stall.device];
    if (device.busy() && device.begun() == stall.piece) {
      ++done_without_;
    } else {
      stall.piece = 0;
    }
  }
  std::map<WorkerId, Stall> stalls_;
  uint64_t done_without_ = 0;
};

}  // namespace

const FaultKind kStallFault = {"stall", &RandomFaults::stall_every, MakeFault<StallFault>, kState};

}  // namespace motley
