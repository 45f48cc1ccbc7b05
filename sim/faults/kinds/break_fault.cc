// SPDX-License-Identifier: Apache-2.0
// A worker's device hangs or fails, for good. One worker is always left.
#include <set>
#include <variant>
#include <vector>

#include "sim/faults/random_fault.h"

namespace motley {
namespace {

constexpr char kState[] = "device given up alone";

class BreakFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  void Strike() override {
    const auto worker = targets_.PickNotLast();
    if (!worker) return;
    WorkerProcess& process = targets_[*worker];
    // Steps may wait for the worker until its device counts as lost.
    targets_.DisturbUntil(targets_.Now() + kSimPatience.first);
    Random& random = targets_.random();
    const std::vector<size_t> devices = process.devices().Unbroken();
    const size_t device = devices.size() > 1 ? devices[random.Below(devices.size())] : devices[0];
    ++broken_;
    if (devices.size() > 1) one_broke_.insert(&process);
    if (random.Chance(0.5)) return process.devices()[device].Hang();
    process.devices()[device].Fail(random.Chance(0.5)
                                       ? Status::Resource("no memory for a buffer")
                                       : Status::Unavailable("the device fell off the bus"));
  }

  // A worker whose other device works reports that it goes on without this one.
  void OnEvent(const JobEvent& event) override {
    const auto* noticed = std::get_if<event::Noticed>(&event);
    const auto* report =
        noticed != nullptr ? std::get_if<notice::Reported>(&noticed->notice) : nullptr;
    if (report == nullptr) return;
    const WorkerProcess& process = targets_[report->worker];
    if (!process.devices().broken() && one_broke_.erase(&process) > 0) ++given_up_;
  }
  std::map<std::string, uint64_t> Reached() const override {
    return {{kState, given_up_}, {"device broke", broken_}};
  }

 private:
  std::set<const WorkerProcess*> one_broke_;
  uint64_t given_up_ = 0, broken_ = 0;
};

}  // namespace

const FaultKind kBreakFault = {.name = "break",
                               .every = &RandomFaults::break_every,
                               .make = MakeFault<BreakFault>,
                               .state = kState,
                               .takes_workers = true};

}  // namespace motley
