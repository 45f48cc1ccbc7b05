// SPDX-License-Identifier: Apache-2.0
// What happens inside a job, for progress, traces, fault scripts and the simulator's checkers.
// Events are reported on the loop's thread. References and spans are valid during the call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "runtime/job.h"
#include "runtime/job_notice.h"

namespace motley {
namespace event {

struct WorkerJoined {
  WorkerId worker;
  const std::string& name;
};
struct WorkerLost {
  WorkerId worker;
  const Status& why;
};
// Steps that are worked off by leases have a code without rows.
struct StepOpened {
  StepId step;
  const CodeForm& code;
  Time now;
};
struct RowAssigned {
  StepId step;
  RowId row;
  WorkerId worker;
  Time now;
};
struct RowArrived {  // All of it, in time.
  StepId step;
  RowId row;
  WorkerId worker;
  Time now;
};
struct VectorArrived {  // The sum has a worker's vector over these partitions, which were leased.
  StepId step;
  WorkerId worker;
  std::span<const PartitionId> partitions;
  Time now;
};
struct LeaseReleased {  // The worker gave these partitions back.
  StepId step;
  WorkerId worker;
  std::span<const PartitionId> partitions;
  Time now;
};
struct VectorRefused {  // What the worker has leased, and no vector covers, is nobody's.
  StepId step;
  WorkerId worker;
  Time now;
};
// The sum of the next StepDecoded is not exact, and its loss is an estimate like it.
struct StepApproximated {
  StepId step;
  const ApproximateSum& sum;
  Time now;
};
// What a worker says that it computed for the step: `samples` besides those reported before, or,
// with `so_far`, in all.
struct WorkComputed {
  StepId step;
  WorkerId worker;
  uint64_t samples;
  Duration compute;
  bool so_far;
  Time now;
};
// With JobOptions::measure_links: so many bytes of a worker's vector and headers came in `time`.
struct VectorReceived {
  StepId step;
  WorkerId worker;
  uint64_t bytes;
  Duration time;
  Time now;
};
// With JobOptions::measure_links: a message went to a worker and back in `time`, behind so many
// bytes of parameters (0: ahead of them).
struct RoundTrip {
  WorkerId worker;
  uint64_t bytes;
  Duration time;
  Time now;
};
// With code "auto": a worker's vector of so many bytes would come in `time` if nothing else did.
struct LinkMeasured {
  WorkerId worker;
  uint64_t bytes;
  Duration time;
  Time now;
};
struct StepDecoded {  // `parameters` have version `step`.
  StepId step;
  const DecodedSum& sum;
  std::span<const float> parameters;
  Time now;
};
struct StepApplied {  // `parameters` have version step + 1.
  StepId step;
  std::span<const float> parameters;
  double batch_loss;
  Time now;
};
struct RateSet {  // The learning rate of the step's update.
  StepId step;
  double rate;
};
struct VersionJudged {
  const JudgedVersion& judged;
};
struct CheckpointSafe {  // A later run can go on from it.
  uint64_t steps;
};
struct Noticed {
  const JobNotice& notice;
};
struct AuditWarned {  // An audit of an earlier step.
  const AuditWarning& warning;
};
struct CommandGiven {  // By the scheduler.
  const Command& command;
  Time now;
};

}  // namespace event

using JobEvent =
    std::variant<event::WorkerJoined, event::WorkerLost, event::StepOpened, event::RowAssigned,
                 event::RowArrived, event::VectorArrived, event::LeaseReleased,
                 event::VectorRefused, event::StepApproximated, event::WorkComputed,
                 event::VectorReceived, event::RoundTrip, event::LinkMeasured, event::StepDecoded,
                 event::StepApplied, event::RateSet, event::VersionJudged, event::CheckpointSafe,
                 event::Noticed, event::AuditWarned, event::CommandGiven>;

// Calls `call` with what happened, if it takes events of that kind.
template <typename Call>
void Handle(const JobEvent& event, Call call) {
  std::visit(
      [&](const auto& each) {
        if constexpr (std::is_invocable_v<Call&, decltype(each)>) call(each);
      },
      event);
}

// An observer that handles few kinds uses std::get_if. One that handles more has an overload On()
// for each, and an OnEvent that begins them: see LiveMetrics.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void OnEvent(const JobEvent& event) = 0;
};

}  // namespace motley
