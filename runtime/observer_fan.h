// SPDX-License-Identifier: Apache-2.0
// Passes the events of a job on to several observers, in their order.
#pragma once

#include <utility>
#include <vector>

#include "runtime/job_event.h"

namespace motley {

class ObserverFan final : public JobObserver {
 public:
  // The observers are borrowed; null pointers are left out. Before this call no event is passed on.
  void Tell(std::vector<JobObserver*> observers) {
    std::erase(observers, nullptr);
    observers_ = std::move(observers);
  }

  void OnEvent(const JobEvent& event) override {
    for (JobObserver* each : observers_) each->OnEvent(event);
  }

 private:
  std::vector<JobObserver*> observers_;
};

}  // namespace motley
