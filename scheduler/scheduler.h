// SPDX-License-Identifier: Apache-2.0
// Decides who computes what, when a step has enough answers, and what to do about stragglers and
// losses. Pure: no I/O, clock, threads or hidden randomness; the same events at the same times give
// the same commands. Slices never reach it: the stream decoder tells "row complete" and
// "decodable".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/time.h"
#include "coding/code_form.h"
#include "scheduler/notice.h"
#include "scheduler/scheduler_stats.h"

namespace motley {

enum class Shares { kProportional, kEqual };

// A list of all of them has to fit in a control message.
inline constexpr uint32_t kMaxPartitions = 250'000;

struct SchedulerOptions {
  uint32_t workers = 1;     // At most. The job starts when all are ready, or see gather_time.
  uint32_t partitions = 1;  // k
  std::string code = "none";
  uint32_t tolerate = 1;  // s; 0 for "none". Of "auto": at least so many.
  // With "approximate" only (rows/early_end.h): rows that are enough for a step, 0 for all but
  // `tolerate`; and how long a step waits for more than one, zero for as long as somebody is in
  // time.
  uint32_t quorum = 0;
  Duration step_deadline{};
  uint32_t parts = 2;  // m of codes with parts.
  Shares shares = Shares::kProportional;
  uint32_t batch = 1;       // Samples per step; a partition counts batch / partitions of them.
  uint64_t steps = 1;       // The job ends after this many.
  uint64_t first_step = 0;  // At most `steps`; those before it were done in an earlier run.
  uint64_t seed = 0;
  // At start_timeout the job starts with those that are ready, if these are `least_workers`.
  Duration start_timeout = std::chrono::seconds(30);
  uint32_t least_workers = 1;
  // The time for the others to get ready, once the least are; none: until start_timeout.
  std::optional<Duration> gather_time;
  Duration return_timeout = std::chrono::minutes(10);  // For a worker, when the last one was lost.
  // For "auto". Vectors as long as the gradient that the server has room for in a step; 0: any
  // number. For the simulator's campaign: another code is drawn every so many steps; 0: none is.
  uint32_t most_sums = 0;
  uint32_t draw_codes_every = 0;
  // Of rows: so many of the fastest take part, and the others stand by; 0: all. For links that bear
  // no more.
  uint32_t most_workers = 0;
};

// --- Events: what happened. ---
struct WorkerJoined {
  WorkerId worker;
  Incarnation incarnation;
};
// Free for work. `samples` were computed in `compute` since the last assignment (0: none);
// `speed_hint` (samples per second) only the first time, from calibration; 0 otherwise.
struct WorkerFree {
  WorkerId worker;
  uint64_t samples;
  Duration compute;
  double speed_hint;
};
// Says how far its row is: it lives, however slow it is. `samples` were computed in `compute` since
// the assignment; WorkerFree counts them again.
struct WorkerProgress {
  WorkerId worker;
  uint64_t samples;
  Duration compute;
};
struct WorkerLost {
  WorkerId worker;
  Status why;  // kCancelled: it took its leave, and handed its work back.
};
// An expected worker that is not there will not come: the start need not wait for it. Should it
// come nevertheless, it is welcome.
struct WorkerNotComing {
  WorkerId worker;
};
// All slices of `row` came from `worker`, while the step was open.
struct RowArrived {
  WorkerId worker;
  StepId step;
  RowId row;
  Duration transfer{};  // From when its beginning was here; zero: not known.
};
// An answer for a step that is no longer open (or was already answered by another): counted.
struct RowLate {
  WorkerId worker;
  StepId step;
  RowId row = 0;
};
// The answer was refused (not finite, wrong length). `touched`: part of it is inside the sums, so
// the step must be computed again.
struct RowRejected {
  WorkerId worker;
  StepId step;
  RowId row;
  bool touched;
  Status why;
};
// Enough has arrived.
struct StepDecodable {
  StepId step;
};
struct StepApplied {  // The update was applied: version step + 1 exists.
  StepId step;
};
struct Tick {};
// Leases (OpenLeases below): the first `done` entries of the worker's list are computed, in
// `compute` since the step opened.
struct LeaseProgress {
  WorkerId worker;
  StepId step;
  uint32_t done;
  Duration compute;
};
// The answer to RevokeLease, one each and in order: these had not been started and are dropped.
struct LeaseReleased {
  WorkerId worker;
  StepId step;
  std::vector<PartitionId> partitions;
};
// A slice of the worker's vector is there, and others are not yet.
struct LeaseSlice {
  WorkerId worker;
  StepId step;
};
// A whole vector over the next `entries` entries of the worker's list is there, checked, and added
// to the step's sum.
struct LeaseVector {
  WorkerId worker;
  StepId step;
  uint32_t entries;
  Duration transfer{};  // From when its beginning was here; zero: not known.
};
// From where the worker is, a whole vector takes so long while nothing else comes.
struct LinkMeasured {
  WorkerId worker;
  Duration vector;
};
using Event = std::variant<WorkerJoined, WorkerFree, WorkerProgress, WorkerLost, WorkerNotComing,
                           RowArrived, RowLate, RowRejected, StepDecodable, StepApplied, Tick,
                           LeaseProgress, LeaseReleased, LeaseSlice, LeaseVector, LinkMeasured>;

// --- Commands: what to do. ---
// Make the decoder ready for a step under this code (the rows of CodeForm). Also restarts a step.
struct OpenStep {
  StepId step;
  std::shared_ptr<const CodeForm> code;
};
// Send data that the worker does not hold yet.
struct PlacePartitions {
  WorkerId worker;
  std::vector<PartitionId> partitions;
};
// Let the worker compute a row of the open step. The partitions were placed before.
struct AssignRow {
  WorkerId worker;
  StepId step;
  RowId row;
};
// Whatever it still does for steps up to this one is not needed.
struct CancelWork {
  WorkerId worker;
  StepId step;
};
// A row of the open step that it was given is not needed of it any more; others are.
struct CancelRow {
  WorkerId worker;
  StepId step;
  RowId row;
};
// Finish the sum and apply the update; StepApplied follows.
struct CommitStep {
  StepId step;
  // It need not decode: the best sum of the rows that are there will do.
  bool approximately = false;
};
// Send the worker away (it sent bad answers); WorkerLost follows.
struct DropWorker {
  WorkerId worker;
  Status why;
};
// The end: all steps done (status fine), or the job cannot go on (says why and what to do).
struct EndJob {
  Status status;
  std::optional<LastWorker> last = {};  // To be told with the status.
};
struct Notify {  // For the user.
  Notice notice;
};
// A step that is worked off by exclusive leases (scheduler/step/step_policy.h) instead of rows: its
// sum is that of the vectors which come, each added whole or not at all. Also restarts a step.
struct OpenLeases {
  StepId step;
};
// Appended to what the worker computes, in this order, into one running sum. Placed before.
struct ExtendLease {
  WorkerId worker;
  StepId step;
  std::vector<PartitionId> partitions;
};
// To be given back as far as they are not started; LeaseReleased follows.
struct RevokeLease {
  WorkerId worker;
  StepId step;
  std::vector<PartitionId> partitions;
};
// Send the vector when the list is done; void if it is extended before.
struct SendLease {
  WorkerId worker;
  StepId step;
};
using Command =
    std::variant<OpenStep, PlacePartitions, AssignRow, CancelWork, CommitStep, DropWorker, EndJob,
                 Notify, OpenLeases, ExtendLease, RevokeLease, SendLease, CancelRow>;

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // Appends to `out` the commands that this event causes. `now` never goes back.
  virtual void OnEvent(const Event& event, Time now, std::vector<Command>& out) = 0;
  // When to send the next Tick, or kNever; may be in the past (now), also before the first event.
  virtual Time Deadline() const = 0;
  virtual SchedulerStats Stats() const = 0;
};

}  // namespace motley
