// SPDX-License-Identifier: Apache-2.0
// A worker's leases: computes its list of partitions as it grows and shrinks, tells how far it is,
// and sends what was summed when it is told to. Loop thread only.
//
// The newest list alone counts: a step's end, a new list or a cancel ends the work on the device,
// and takes back what has not left. A vector covers all entries since the last one that was sent.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/worker/lease_task.h"
#include "runtime/worker/outbox.h"
#include "runtime/worker/worker_inbox.h"
#include "runtime/worker/worker_node.h"

namespace motley {

// What a worker's desks work with.
struct DeskParts {
  std::shared_ptr<Workshop> shop;
  const ParameterInbox& parameters;
  const PartitionInbox& partitions;
  PeerId peer = 0;
  Header header;  // Job and incarnation.
  uint32_t slice_length = 0;
};

class LeaseDesk {
 public:
  // `outbox` is borrowed. `failed` runs when a lease cannot be computed at all.
  LeaseDesk(Env env, const DeskParts& parts, Outbox& outbox,
            std::function<void(const Status&)> failed);
  ~LeaseDesk();

  // What the server tells. kDataError: partitions that cannot be.
  Status Extend(const wire::ExtendT& extend);
  Status Revoke(const wire::RevokeT& revoke);
  void Send(const wire::SendVectorT& send);
  // Leases of steps up to `step` are not needed. The outbox is the caller's to cancel. Who ever had
  // leases answers with a Progress: by that the server knows that a silent worker is back.
  void Cancel(StepId step);
  // Parameters or a partition arrived, or a vector of the outbox is free.
  void Advance();
  void Stop();  // Nothing more is computed. For good.

 private:
  bool IsCurrent(StepId step, uint32_t list) const;
  void Drop();
  LeaseTask::Hooks Hooks();
  void OnProgress();
  void OnChunk(Outbox::Vector& sum, const Status& status);
  void TellProgress();
  void SendIfDue();

  Env env_;
  const DeskParts& parts_;
  Outbox& outbox_;
  std::function<void(const Status&)> failed_;
  std::shared_ptr<LeaseTask> task_;     // Null: no leases.
  std::shared_ptr<LeaseTask> running_;  // Whose chunk is on the device; null: none is.
  Outbox::Vector* sum_ = nullptr;       // Of task_, as far as nothing was sent; null: none.
  size_t sent_ = 0;                     // Entries of task_ that vectors cover.
  bool told_ = false;                   // To send when the list is done.
  bool leased_ = false;                 // Ever.
  bool stopped_ = false;
  Time last_word_{};  // Progress was told.
};

}  // namespace motley
