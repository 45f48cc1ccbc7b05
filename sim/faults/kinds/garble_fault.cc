// SPDX-License-Identifier: Apache-2.0
// A slice of a worker's answer is damaged where no checksum sees it, and keeps its norm.
#include <set>
#include <utility>
#include <variant>

#include "sim/faults/random_fault.h"

namespace motley {
namespace {

constexpr char kState[] = "answer refused for its sketch";

class GarbleFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  void Strike() override {
    const auto spoilt = targets_.PickToSpoil();
    if (!spoilt) return;
    targets_[spoilt->worker].transport().GarbleStep(spoilt->step, targets_.random().Next64());
    garbled_.insert({spoilt->worker, spoilt->step});
  }

  void OnEvent(const JobEvent& event) override {
    const auto* noticed = std::get_if<event::Noticed>(&event);
    const auto* notice = noticed != nullptr ? std::get_if<Notice>(&noticed->notice) : nullptr;
    if (notice == nullptr) return;
    if (const auto* refused = std::get_if<notice::Refused>(notice)) {
      refused_ += garbled_.contains({refused->worker, refused->step});
    }
    if (const auto* away = std::get_if<notice::SentAway>(notice)) {
      refused_ += garbled_.contains({away->worker, targets_.open_step()});
    }
  }
  // Neither checksum nor norm shows the damage.
  std::map<std::string, uint64_t> Reached() const override {
    return {{kState, refused_}, {"slice garbled", Garbled()}};
  }

 private:
  uint64_t Garbled() const {
    uint64_t garbled = 0;
    for (const FaultTargets::Workers* lives : {&targets_.workers(), &targets_.dead()}) {
      for (const auto& process : *lives) garbled += process->transport().garbled();
    }
    return garbled;
  }

  std::set<std::pair<WorkerId, StepId>> garbled_;
  uint64_t refused_ = 0;
};

}  // namespace

const FaultKind kGarbleFault = {"garble", &RandomFaults::garble_every, MakeFault<GarbleFault>,
                                kState};

}  // namespace motley
