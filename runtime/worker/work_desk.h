// SPDX-License-Identifier: Apache-2.0
// A worker's assignments: computes them one after the other when what they need is there, and sends
// the answers. Loop thread only.
//
// Every assignment ends with exactly one Pull, in order, behind its slices (both are bulk): the
// server tells by it which slices belong to what. Rows that are to be kept end with it alone, and
// rows about the same partitions are put together from them. Leases are worked off by a LeaseDesk.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/alive.h"
#include "runtime/worker/kept_sums.h"
#include "runtime/worker/lease_desk.h"
#include "runtime/worker/outbox.h"
#include "runtime/worker/row_task.h"
#include "runtime/worker/worker_inbox.h"
#include "runtime/worker/worker_node.h"

namespace motley {

class WorkDesk {
 public:
  using Parts = DeskParts;
  // `failed` runs when a row or lease cannot be computed at all.
  WorkDesk(Env env, Parts parts, std::function<void(const Status&)> failed);
  ~WorkDesk();

  void SetAnswerFilter(AnswerFilter filter) { outbox_.SetFilter(std::move(filter)); }

  // The first Pull.
  void Introduce(double samples_per_second);
  // Work for a newer step supersedes that for older ones. kDataError: more than could be.
  Status Assign(RowTask::Row row);
  LeaseDesk& leases() { return leases_; }
  // Work for steps up to `step` is not needed; nor are its answers that have not left.
  void Cancel(StepId step);
  // The same for one row of a step.
  void CancelRow(StepId step, RowId row);
  // The first slices of a vector, of zeros, as kProbe frames.
  void SendProbe(uint32_t slices);
  // Parameters or a partition arrived.
  void Advance();
  // Nothing more is computed, and what has not left is taken back. For good.
  void Stop();

 private:
  struct Queued {
    RowTask::Row row;
    bool cancelled = false;
  };
  using Answer = Outbox::Vector;

  bool Ready(const RowTask::Row& row);
  void Begin(Answer& answer);
  Status BeginKept();
  void OnKept(PartitionId begin, PartitionId end, const Status& status);
  void Run(const std::shared_ptr<std::vector<float>>& sum, RowTask::Hooks hooks);
  void OnProgress();
  void OnFinal(Answer& answer, size_t begin, size_t end, const Tally& tally);
  void OnDone(Answer& answer, const Status& status);
  void EndRow(Answer& answer, const RowTask& task, const Status& status);
  void SendPull(const RowTask::Row& row, const RowTask* task, bool finished);
  void SendAgain(const Bytes& control, Priority priority);

  Env env_;
  Parts parts_;
  std::function<void(const Status&)> failed_;
  Outbox outbox_;
  LeaseDesk leases_;
  std::deque<Queued> queue_;  // The first one is running, if any is.
  // Whose partitions were all there, where they stay: rows of one plan have the same.
  std::vector<PartitionTerm> held_;
  std::shared_ptr<RowTask> running_;
  std::vector<PartitionTerm> room_;  // For the next one's pieces.
  KeptSums kept_;
  std::vector<KeptSums::Share> shares_;  // Of the row that is running, to be added when it is done,
  bool adding_ = false;                  // which is being done.
  bool ending_ = false;                  // What a row ends with is being sent.
  bool stopped_ = false;
  Bytes pull_, progress_;  // The last ones: the next differ by a few numbers.
  Time last_word_{};       // Progress of the running row was told, or it began.
  Alive alive_;
};

}  // namespace motley
