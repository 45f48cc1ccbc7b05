// SPDX-License-Identifier: Apache-2.0
// Strikes the faults that a job's options ask for.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "runtime/fault_plan.h"
#include "runtime/job_event.h"

namespace motley {

// Strikes each scripted fault once, when its step opens for the first time.
class FaultScript final : public JobObserver {
 public:
  using Strike = std::function<void(const Fault&)>;
  FaultScript(std::vector<Fault> faults, Strike strike)
      : faults_(std::move(faults)), strike_(std::move(strike)) {}

  void OnEvent(const JobEvent& event) override;

 private:
  void On(const event::StepOpened& event);

  std::vector<Fault> faults_;
  Strike strike_;
};

}  // namespace motley
