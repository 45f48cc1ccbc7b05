// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "coding/schemes.h"
#include "runtime/coordinator/audit_findings.h"
#include "runtime/coordinator/job_ending.h"
#include "runtime/coordinator/server_inbox.h"
#include "runtime/coordinator/server_peers.h"
#include "runtime/coordinator/step_watch.h"
#include "runtime/links/messages.h"
#include "runtime/shard/answers.h"

namespace motley {

Dispatcher::Dispatcher(ServerContext& server) : server_(server) {
  server.model->versions().SetCrowded([this] { return FreeVersion(); });
}

// Opens an update for answers; with lists if `form` is null. Ends the job, and returns false,
// without the memory for it.
bool Dispatcher::Open(const Update& update, std::shared_ptr<const CodeForm> form) {
  server_.record.Opened(update.id, server_.Now());
  server_.watch.Opened(update.id);
  for (const auto& session : server_.sessions) {
    if (session != nullptr) session->transfer.Opened();
  }
  // The weights that answers must have, unless the caller's trainer or class weights define them.
  KnownCounts counts;
  if (server_.CountsAreKnown()) counts = server_.schedule.SharedRanges(update.id);
  const Status opened = server_.answers.Open(update, std::move(form), std::move(counts));
  if (!opened.ok()) server_.end.End(opened);
  server_.inbox.TakeWaitingEnds();
  SendHeldCancels();  // Precedes new work under the same names.
  return opened.ok();
}

void Dispatcher::Do(const OpenStep& command) {
  const Time now = server_.Now();
  if (!Open({command.step, command.base_version}, command.code)) return;
  server_.observer.OnEvent(event::StepOpened{command.step, *command.code, now});
}

void Dispatcher::Do(const OpenLeases& command) {
  if (!Open({command.step, command.base_version}, nullptr)) return;
  CodeForm form;
  form.name = "adaptive";
  form.partitions = static_cast<uint32_t>(server_.schedule.partition_sizes().size());
  server_.observer.OnEvent(event::StepOpened{command.step, form, server_.Now()});
}

void Dispatcher::Do(const PlacePartitions& command) {
  Session* session = server_.SessionOf(command.worker);
  if (session != nullptr) session->feed.Place(command.partitions);
}

void Dispatcher::Do(const AssignRow& command) {
  Session* session = server_.SessionOf(command.worker);
  if (session == nullptr) return;
  const Bytes& order = server_.answers.GiveRow(command.worker, command.step, command.row);
  if (Status fits = CheckSendable(FrameKind::kControl, order.size()); !fits.ok()) {
    return server_.end.End(fits.WithContext(fmt::format(
        "row {} of step {} lists so many partitions that it cannot be sent: use fewer `parts` or "
        "workers, or another `code`",
        command.row, command.step)));
  }
  server_.watch.Assigned(command.worker);
  Publish(*session);
  const Header header = session->HeaderFor(FrameKind::kControl, command.step);
  SendBytes(server_.env.transport, session->peer, header, order, Priority::kControl, nullptr);
  server_.observer.OnEvent(
      event::RowAssigned{command.step, command.row, command.worker, server_.Now()});
}

void Dispatcher::Do(const CancelWork& command) {
  if (server_.SessionOf(command.worker) == nullptr) return;
  Send({command.worker, server_.answers.orders().Cancel(command.worker, command.step)});
}

void Dispatcher::Do(const CancelRow& command) {
  if (server_.SessionOf(command.worker) == nullptr) return;
  const auto cancel = server_.answers.orders().CancelRow(command.worker, command.step, command.row);
  if (cancel) Send({command.worker, *cancel});
}

void Dispatcher::Do(const ExtendLease& command) {
  Session* session = server_.SessionOf(command.worker);
  if (session == nullptr) return;
  const Result<wire::OrderT> order =
      server_.answers.orders().Extend(command.worker, command.step, command.partitions);
  if (!order.ok()) return server_.end.End(order.status());
  server_.watch.Assigned(command.worker);
  Publish(*session);
  Send(*session, command.step, *order);
}

void Dispatcher::Do(const RevokeLease& command) {
  const Session* session = server_.SessionOf(command.worker);
  if (session == nullptr) return;
  const auto revoke = server_.answers.orders().Revoke(command.worker, command.partitions);
  if (revoke) Send(*session, command.step, *revoke);
}

void Dispatcher::Do(const SendLease& command) {
  const Session* session = server_.SessionOf(command.worker);
  if (session == nullptr) return;
  const auto flush = server_.answers.orders().Flush(command.worker);
  if (flush) Send(*session, command.step, *flush);
}

// A cancel is held if an audit needs the copy, and if it would include an earlier held cancel.
bool Dispatcher::MustHold(const WorkersCancel& cancel) const {
  const auto same = [&](const WorkersCancel& held) { return held.worker == cancel.worker; };
  const bool all = cancel.cancel.order == 0;
  if (server_.remote != nullptr) return false;  // Audits need answers here.
  return (all && std::any_of(held_.begin(), held_.end(), same)) ||
         server_.audits.auditor().NeedsCopies(cancel.cancel.step);
}

void Dispatcher::Send(const WorkersCancel& cancel) {
  if (MustHold(cancel)) return held_.push_back(cancel);
  Send(*server_.SessionOf(cancel.worker), 0, cancel.cancel);
}

void Dispatcher::SendHeldCancels() {
  if (held_.empty()) return;
  if (server_.audits.auditor().NeedsCopies(held_.front().cancel.step)) return;
  for (const WorkersCancel& held : std::exchange(held_, {})) Send(held);
}

void Dispatcher::Forget(WorkerId worker) {
  std::erase_if(held_, [worker](const WorkersCancel& held) { return held.worker == worker; });
}

template <typename Message>
void Dispatcher::Send(const Session& to, StepId step, const Message& message) {
  SendControl(server_.env.transport, to.peer, to.HeaderFor(FrameKind::kControl, step), message);
}

// Sends the newest parameters, unless the worker has them.
void Dispatcher::Publish(Session& session) {
  if (server_.remote != nullptr) return;  // The owners of the shards do it.
  const JobOptions& options = server_.options;
  const uint64_t sent = session.Publish(server_.model->version(), server_.model->parameters());
  if (SchemeNamed(options.code).chosen_later() && options.workers > 1) session.turn.Ask();
  if (options.measure_links) session.link.Ask(sent);
}

// There is no memory for one more version. The connection that still reads the oldest
// version is cut, because slices under way cannot be taken back otherwise.
bool Dispatcher::FreeVersion() {
  std::optional<Publisher::Oldest> oldest;
  for (const auto& shard : server_.model->shards()) {
    const auto found = shard->publisher().OldestReader(server_.model->version());
    if (found && (!oldest || found->version < oldest->version)) oldest = found;
  }
  if (!oldest) return false;
  server_.peers.Disconnect(
      oldest->peer,
      Status::Unavailable("it has not read an old version of the parameters for so long that "
                          "no memory is left for a new one: it may join again"));
  return true;
}

}  // namespace motley
