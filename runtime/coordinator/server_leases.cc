// SPDX-License-Identifier: Apache-2.0
// Steps that are worked off by leases: commands to workers, and what they answer.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/coordinator/server_job.h"
#include "runtime/links/messages.h"
#include "runtime/links/worker_claims.h"

namespace motley {

// --- Commands ---

void ServerJob::Do(const OpenLeases& command) {
  const Time now = env_.loop.Now();
  began_ = true;
  record_.Opened(command.step, now);
  watch_.Opened(command.step);
  rows().Abandon();
  transfers_.Opened();
  leases_.Open(command.step, *gradient_, CountsOf(command.step));
  TellOfHeldCancels();
  CodeForm form;
  form.name = "adaptive";
  form.partitions = static_cast<uint32_t>(schedule_.partition_sizes().size());
  observer_.OnEvent(event::StepOpened{command.step, form, now});
}

template <typename Message>
void ServerJob::TellLease(WorkerId worker, StepId step, const Message& message) {
  Header header = peers_.HeaderTo(worker, FrameKind::kControl);
  header.step = step;
  SendControl(env_.transport, peers_.PeerOf(worker), header, message);
}

void ServerJob::Do(const ExtendLease& command) {
  const WorkerId worker = command.worker;
  if (!peers_.Connected(worker)) return;  // Its loss is on its way to the scheduler.
  const Result<uint32_t> list = leases_.Extend(worker, command.partitions);
  if (!list.ok()) return End(list.status());
  watch_.Assigned(worker);
  Publish(worker, command.step);
  wire::ExtendT extend;
  extend.step = command.step;
  extend.version = command.step;
  extend.list = *list;
  extend.partitions = command.partitions;
  TellLease(worker, command.step, extend);
}

void ServerJob::Do(const RevokeLease& command) {
  if (!peers_.Connected(command.worker)) return;
  const auto list = leases_.Revoke(command.worker, command.partitions);
  if (!list) return;
  wire::RevokeT revoke;
  revoke.step = command.step;
  revoke.list = *list;
  revoke.partitions = command.partitions;
  TellLease(command.worker, command.step, revoke);
}

void ServerJob::Do(const SendLease& command) {
  if (!peers_.Connected(command.worker)) return;
  const auto list = leases_.ListOf(command.worker);
  if (!list) return;
  wire::SendVectorT send;
  send.step = command.step;
  send.list = *list;
  TellLease(command.worker, command.step, send);
}

// --- What arrives ---

std::span<std::byte> ServerJob::BeginLeaseSlice(PeerId peer, WorkerId worker, const Header& header,
                                                bool fenced) {
  LeaseCollector::Slice slice;
  const Result<bool> wanted = leases_.Begin(worker, header, fenced, slice);
  if (!wanted.ok()) OnLeaseFault(peer, wanted.status(), header.step);
  if (!wanted.ok() || !*wanted) return {};
  watch_.Progress();
  transfers_.Began(worker, header, env_.loop.Now());
  const std::span<float> room = slice.room;
  From(peer).lease_slice = std::move(slice);
  return std::as_writable_bytes(room);
}

void ServerJob::FinishLeaseSlice(PeerId peer, WorkerId worker, StepId step) {
  const LeaseCollector::Slice slice =
      std::exchange(From(peer).lease_slice, LeaseCollector::Slice());
  if (const Status fine = leases_.Finish(worker, slice); !fine.ok()) {
    OnLeaseFault(peer, fine, step);
  }
}

// A bad vector is the worker's fault; a lack of memory is ours.
void ServerJob::OnLeaseFault(PeerId peer, const Status& fault, StepId step) {
  if (fault.code() != StatusCode::kResource) return Complain(peer, fault, step);
  End(fault.WithContext(fmt::format("the vectors of step {} do not fit", step)));
}

// False: it is about something else.
bool ServerJob::OnLeaseControl(PeerId peer, WorkerId worker, const wire::ControlT& control) {
  Status fine;
  if (const wire::LeaseProgressT* told = control.body.AsLeaseProgress()) {
    fine = CheckClaims(*told);
    if (fine.ok()) fine = leases_.OnProgress(worker, *told);
  } else if (const wire::ReleasedT* released = control.body.AsReleased()) {
    fine = leases_.OnReleased(worker, *released);
  } else if (const wire::VectorEndT* end = control.body.AsVectorEnd()) {
    fine = CheckClaims(*end);
    if (fine.ok()) {
      record_.Holds(worker, end->held_bytes);
      const Status added = leases_.OnVectorEnd(worker, *end);
      if (!added.ok()) OnLeaseFault(peer, added, end->step);
    }
  } else {
    return false;
  }
  if (!fine.ok()) peers_.SendAway(peer, fine);
  return true;
}

}  // namespace motley
