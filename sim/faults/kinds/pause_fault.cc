// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/kinds/pause_fault.h"

namespace motley {
namespace {

constexpr char kState[] = "paused worker back in time";

class PauseFault final : public RandomFault {
 public:
  explicit PauseFault(FaultTargets& targets) : targets_(targets) {}

  void Strike() override {
    if (const auto worker = targets_.Pick()) {
      targets_.Pause(*worker, targets_.DrawDuration(0.01, 2));
    }
  }
  std::map<std::string, uint64_t> Reached() const override {
    return {{kState, targets_.back_from_pause()}};
  }

 private:
  FaultTargets& targets_;
};

}  // namespace

const FaultKind kPauseFault = {"pause", &RandomFaults::pause_every, MakeFault<PauseFault>, kState};

}  // namespace motley
