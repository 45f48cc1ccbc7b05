// SPDX-License-Identifier: Apache-2.0
// Chrome trace events of a job (open in ui.perfetto.dev): one track per worker with an event per
// assigned row, from assignment to arrival, and one for the server.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "runtime/job.h"

namespace motley {

class TraceRecorder final : public JobObserver {
 public:
  void OnWorkerJoined(WorkerId worker, const std::string& name) override;
  void OnWorkerLost(WorkerId worker, const Status& why) override;
  void OnStepOpened(StepId step, const CodeForm& code, Time now) override;
  void OnRowAssigned(StepId step, RowId row, WorkerId worker, Time now) override;
  void OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) override;
  void OnStepDecoded(StepId step, std::span<const float> gradient,
                     std::span<const float> parameters, Time now) override;
  void OnStepApplied(StepId step, std::span<const float> parameters, double batch_loss,
                     Time now) override;
  void OnCommand(const Command& command, Time now) override;

  // {"traceEvents": [...]}; rows still open end at the last time seen.
  std::string Json();

 private:
  struct Event {
    std::string name;
    uint32_t track = 0;  // 0: the server; worker + 1.
    Time begin{};
    Time end{};
    StepId step = 0;
  };
  struct OpenRow {
    RowId row = 0;
    StepId step = 0;
    Time begin{};
  };

  void Close(WorkerId worker, const char* how, Time now);
  void AddServerEvent(const char* what, StepId step, Time begin, Time end);

  std::vector<Event> events_;
  std::map<WorkerId, std::string> names_;
  std::map<WorkerId, OpenRow> open_;
  Time opened_{};
  Time decoded_{};
  Time last_{};
};

}  // namespace motley
