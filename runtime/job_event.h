// SPDX-License-Identifier: Apache-2.0
// The events of a job, for progress, traces, fault scripts and the simulator's checkers. Events are
// reported on the loop's thread. References and spans are valid during the call.
#pragma once

#include <cstdint>
#include <optional>
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
struct WorkerLost {  // Precedes what the loss leads to, such as the end of the job.
  WorkerId worker;
  const Status& why;
};
// Steps with leases have a code without rows.
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
  bool ahead = false;  // As in AssignRow.
};
struct RowArrived {  // The whole row arrived in time.
  StepId step;
  RowId row;
  WorkerId worker;
  Time now;
};
struct VectorArrived {  // The sum has a worker's vector over these leased partitions.
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
struct VectorRefused {  // The worker's leased partitions that no vector covers belong to nobody.
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
// The samples that a worker computed for the step: `samples` beside those reported before, or in
// all if `so_far`.
struct WorkComputed {
  StepId step;
  WorkerId worker;
  uint64_t samples;
  Duration compute;
  bool so_far;
  Time now;
};
// With JobOptions::measure_links: `bytes` of a worker's vector and headers arrived in `time`.
struct VectorReceived {
  StepId step;
  WorkerId worker;
  uint64_t bytes;
  Duration time;
  Time now;
};
// With JobOptions::measure_links: the round trip to a worker took `time`, behind this many bytes of
// parameters (0: ahead of them).
struct RoundTrip {
  WorkerId worker;
  uint64_t bytes;
  Duration time;
  Time now;
};
// With code "auto": a worker's vector of this many bytes would arrive in `time` if nothing else
// did.
struct LinkMeasured {
  WorkerId worker;
  uint64_t bytes;
  Duration time;
  Time now;
};
// Where workers hold the shards, only jobs that read every version have parameters in these two.
struct StepDecoded {  // `parameters` are the newest; with a barrier they have version `step`.
  StepId step;
  const DecodedSum& sum;
  std::span<const float> parameters;
  Time now;
  // The oldest that answers were computed with. 0 if workers have the shards.
  uint64_t version = 0;
  std::optional<WorkerId> worker = {};  // As in Contribution. None if workers have the shards.
};
struct StepApplied {  // `parameters` have version step + 1, whatever the number of the update.
  StepId step;
  std::span<const float> parameters;
  double batch_loss;
  Time now;
  uint64_t staleness = 0;  // As in Contribution.
  // The optimizer's state, if workers hold the shards and a checkpoint of this version is due.
  std::span<const float> state = {};
  double weight = 0;  // The samples of the update weigh this much.
};
// Workers began to apply the update, and part of the next version was lost. The step starts again.
struct UpdateTakenBack {
  StepId step;
};
// A worker or shard server that is still there holds no shards any more.
struct HolderLeft {
  WorkerId node;
  notice::ShardsMoved::Why why;
};
struct RateSet {  // The learning rate of the step's update.
  StepId step;
  double rate;
};
struct VersionJudged {
  const JudgedVersion& judged;
};
struct CheckpointSafe {  // A later run can resume from it.
  uint64_t steps;
};
struct Noticed {
  const JobNotice& notice;
};
struct AuditWarned {  // An audit of an earlier step found something wrong.
  const AuditWarning& warning;
};
struct AuditGivenUp {  // Nodes that own shards were lost before they had reported the step.
  StepId step;
};
struct CommandGiven {  // The scheduler gave a command.
  const Command& command;
  Time now;
};

}  // namespace event

using JobEvent =
    std::variant<event::WorkerJoined, event::WorkerLost, event::StepOpened, event::RowAssigned,
                 event::RowArrived, event::VectorArrived, event::LeaseReleased,
                 event::VectorRefused, event::StepApproximated, event::WorkComputed,
                 event::VectorReceived, event::RoundTrip, event::LinkMeasured, event::StepDecoded,
                 event::StepApplied, event::UpdateTakenBack, event::HolderLeft, event::RateSet,
                 event::VersionJudged, event::CheckpointSafe, event::Noticed, event::AuditWarned,
                 event::AuditGivenUp, event::CommandGiven>;

// Calls `call` with the event if it accepts events of that kind.
template <typename Call>
void Handle(const JobEvent& event, Call call) {
  std::visit(
      [&](const auto& each) {
        if constexpr (std::is_invocable_v<Call&, decltype(each)>) call(each);
      },
      event);
}

// An observer that handles few kinds uses std::get_if. One that handles more has an overload On()
// for each kind, and its OnEvent dispatches to them (see LiveMetrics).
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void OnEvent(const JobEvent& event) = 0;
};

}  // namespace motley
