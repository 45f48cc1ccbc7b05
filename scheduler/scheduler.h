// SPDX-License-Identifier: Apache-2.0
// The scheduler decides which worker computes what, when a step has enough answers, and how to
// handle stragglers and losses. Pure: no I/O, clock, threads or hidden randomness. The same events
// at the same times give the same commands. Slices never reach it; the stream decoder reports
// complete rows and decodable steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/time.h"
#include "coding/code_form.h"
#include "profiles/shard_shares.h"
#include "scheduler/notice.h"
#include "scheduler/scheduler_options.h"
#include "scheduler/scheduler_stats.h"

namespace motley {

// --- Events: what happened ---
struct WorkerJoined {
  WorkerId worker;
  Incarnation incarnation;
};
// The worker is free for work. It computed `samples` in `compute` since the last assignment (0:
// none). `speed_hint` (samples per second) comes from calibration and only the first time; it is 0
// otherwise.
struct WorkerFree {
  WorkerId worker;
  uint64_t samples;
  Duration compute;
  double speed_hint;
};
// The worker reports progress on its row, which shows that it lives, however slow it is. It
// computed `samples` in `compute` since the assignment; WorkerFree counts them again.
struct WorkerProgress {
  WorkerId worker;
  uint64_t samples;
  Duration compute;
};
struct WorkerLost {
  WorkerId worker;
  Status why;  // kCancelled: the worker left by itself and handed its work back.
};
// The start need not wait for this worker. It is welcome if it comes nevertheless.
struct WorkerNotComing {
  WorkerId worker;
};
struct RowArrived {  // All slices of `row` came from `worker`, while the step was open.
  WorkerId worker;
  StepId step;
  RowId row;
  Duration transfer{};  // Since its first byte arrived; zero: not known.
};
// Part of the worker's answer to a row could leave, and waits for SendRow.
struct RowReady {
  WorkerId worker;
  StepId step;
  RowId row;
};
// An answer to a step that is closed, or to a row that another worker answered first.
struct RowLate {
  WorkerId worker;
  StepId step;
  RowId row = 0;
};
// The answer was refused. `touched`: part of it is in the sums, so the step must begin again.
struct RowRejected {
  WorkerId worker;
  StepId step;
  RowId row;
  bool touched;
  Status why;
};
struct StepDecodable {  // Enough answers arrived.
  StepId step;
};
struct StepApplied {  // The update was applied: one more version exists.
  StepId step;
};
// Part of the sum is lost. The step begins again, even if it was committed.
struct UpdateLost {
  StepId step;
};
struct Tick {};
// Leases (OpenLeases below): the worker has computed the first `done` entries of its list, in
// `compute` since the step opened.
struct LeaseProgress {
  WorkerId worker;
  StepId step;
  uint32_t done;
  Duration compute;
};
// The answers to RevokeLease, one each and in order: these partitions are dropped, not started.
struct LeaseReleased {
  WorkerId worker;
  StepId step;
  std::vector<PartitionId> partitions;
};
// A slice of the worker's vector arrived, and others are missing.
struct LeaseSlice {
  WorkerId worker;
  StepId step;
};
// A whole vector over the next `entries` entries of the worker's list arrived. It was checked and
// added to the step's sum.
struct LeaseVector {
  WorkerId worker;
  StepId step;
  uint32_t entries;
  Duration transfer{};  // Since its first byte arrived; zero: not known.
};
// The worker has these partitions of the data now.
struct DataCame {
  WorkerId worker;
  std::vector<PartitionId> partitions;
};
// The time that a whole vector takes from the worker's place while nothing else comes.
struct LinkMeasured {
  WorkerId worker;
  Duration vector;
};
// These nodes own the vector, and links were measured. Raised while an update commits.
struct OwnersPlaced {
  std::map<WorkerId, double> parts;               // By owner; together they are the vector.
  std::map<WorkerId, NodeLink> workers, servers;  // The measured links.
  double bytes = 0;                               // That a vector takes on links.
  double followers = 0;                           // As in Exchange.
};
using Event = std::variant<WorkerJoined, WorkerFree, WorkerProgress, WorkerLost, WorkerNotComing,
                           RowArrived, RowLate, RowRejected, StepDecodable, StepApplied, UpdateLost,
                           Tick, LeaseProgress, LeaseReleased, LeaseSlice, LeaseVector,
                           LinkMeasured, OwnersPlaced, RowReady, DataCame>;

// --- Commands: what to do ---
// Prepares the decoder for a step under this code (the rows of CodeForm). It also restarts a step.
struct OpenStep {
  StepId step;
  std::shared_ptr<const CodeForm> code;
  uint64_t base_version;  // The version whose gradient is computed.
};
// Sends data that the worker does not hold yet. DataCame follows when they have come.
struct PlacePartitions {
  WorkerId worker;
  std::vector<PartitionId> partitions;
  bool copies = false;  // No step waits for them, so they give way to everything else.
};
// Makes the worker compute a row of the open step. Its partitions were placed before.
struct AssignRow {
  WorkerId worker;
  StepId step;
  RowId row;
  bool waits = false;  // The answer waits for SendRow; RowReady comes when it could leave.
  // With local steps: the worker has begun the row ahead of this command, after its last answer,
  // which counts. It goes on from there. Otherwise it drops what it did ahead.
  bool ahead = false;
};
// Lets the answer to a row leave that waits, or would wait.
struct SendRow {
  WorkerId worker;
  StepId step;
  RowId row;
};
// Cancels the worker's work for all steps up to this one.
struct CancelWork {
  WorkerId worker;
  StepId step;
  bool held = false;  // Its answers were there and held, so it is not late.
};
// Cancels one row of the open step; the worker's other rows are still needed.
struct CancelRow {
  WorkerId worker;
  StepId step;
  RowId row;
};
// Finishes the sum and applies the update; StepApplied follows.
struct CommitStep {
  StepId step;
  // The step need not decode: the best sum of the rows that arrived is enough.
  bool approximately = false;
};
// Sends the worker away because of bad answers; WorkerLost follows.
struct DropWorker {
  WorkerId worker;
  Status why;
};
// Ends the job: all steps are done (status ok), or it cannot go on (the status says why and what to
// do).
struct EndJob {
  Status status;
  std::optional<LastWorker> last = {};  // To be reported with the status.
};
struct Notify {  // For the user.
  Notice notice;
};
// Opens a step with exclusive leases (scheduler/step/step_policy.h) instead of rows. Its sum is
// that of the vectors that come, each added whole or not at all. It also restarts a step.
struct OpenLeases {
  StepId step;
  uint64_t base_version;
};
// Appends to the partitions that the worker computes, in this order, into one running sum. They
// were placed before.
struct ExtendLease {
  WorkerId worker;
  StepId step;
  std::vector<PartitionId> partitions;
};
// Asks for partitions back as far as they are not started; LeaseReleased follows.
struct RevokeLease {
  WorkerId worker;
  StepId step;
  std::vector<PartitionId> partitions;
};
// Asks for the vector when the list is done; void if the list is extended before.
struct SendLease {
  WorkerId worker;
  StepId step;
};
using Command =
    std::variant<OpenStep, PlacePartitions, AssignRow, CancelWork, CommitStep, DropWorker, EndJob,
                 Notify, OpenLeases, ExtendLease, RevokeLease, SendLease, CancelRow, SendRow>;

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // Appends to `out` the commands that this event causes. `now` never goes back.
  virtual void OnEvent(const Event& event, Time now, std::vector<Command>& out) = 0;
  // The time of the next Tick, or kNever. It may be in the past (now), and may be asked before the
  // first event.
  virtual Time Deadline() const = 0;
  virtual SchedulerStats Stats() const = 0;
};

}  // namespace motley
