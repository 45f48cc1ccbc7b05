// SPDX-License-Identifier: Apache-2.0
// A worker's connection breaks; the server may not notice.
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

constexpr char kState[] = "connection cut";

class CutFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  void Strike() override {
    const auto worker = targets_.Pick();
    if (!worker) return;
    ++cuts_;
    targets_.DisturbUntil(targets_.Now());
    targets_[*worker].transport().Cut(/*tell_server=*/targets_.random().Chance(0.7));
  }
  std::map<std::string, uint64_t> Reached() const override { return {{kState, cuts_}}; }

 private:
  uint64_t cuts_ = 0;
};

}  // namespace

const FaultKind kCutFault = {.name = "cut",
                             .every = &RandomFaults::cut_every,
                             .make = MakeFault<CutFault>,
                             .state = kState,
                             .takes_workers = true};

}  // namespace motley
