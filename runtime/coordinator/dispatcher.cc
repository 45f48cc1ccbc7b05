// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "coding/schemes.h"
#include "runtime/coordinator/audit_findings.h"
#include "runtime/coordinator/server_inbox.h"
#include "runtime/coordinator/server_peers.h"
#include "runtime/coordinator/step_watch.h"
#include "runtime/links/messages.h"
#include "runtime/shard/answers.h"
#include "scheduler/rows/send_grants.h"

namespace motley {

Dispatcher::Dispatcher(ServerContext& server) : server_(server) {
  server.model->versions().SetCrowded([this] { return FreeVersion(); });
}

void Dispatcher::Execute(const Command& command) {
  if (server_.remote == nullptr || !server_.remote->Holds(command)) CarryOut(command);
}

void Dispatcher::CarryOut(const Command& command) {
  server_.observer.OnEvent(event::CommandGiven{command, server_.Now()});
  std::visit(
      [this](const auto& each) {
        if constexpr (requires { each.worker; }) {
          Session* to = server_.SessionOf(each.worker);
          if (to != nullptr) Do(each, *to);
        } else {
          Do(each);
        }
      },
      command);
}

// Opens an update for answers; with lists if `form` is null. Ends the job, and returns false,
// without the memory for it.
bool Dispatcher::Open(const Update& update, std::shared_ptr<const CodeForm> form) {
  server_.record.Opened(update.id, server_.Now());
  server_.watch.Opened(update.id);
  for (const auto& session : server_.sessions) {
    // Other updates may be on their way if each worker has updates of its own.
    const bool free = session != nullptr && !server_.options.sync.one_each;
    if (free) session->transfer.Opened();
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

// Where nodes hold the shards, a silent one holds up all that send to it. These look busy to the
// scheduler, which knows nothing of shards, and the silent one may have done its own work.
void Dispatcher::Do(const Notify& command) {
  const auto* step = std::get_if<notice::LongStep>(&command.notice);
  std::set<WorkerId> holders;
  if (step != nullptr && server_.remote != nullptr && server_.remote->began()) {
    holders = server_.remote->shards().placement().nodes();
  }
  std::vector<WorkerId> silent;
  for (const WorkerId holder : holders) {
    const Session* const session = server_.SessionOf(holder);
    if (session != nullptr && session->silent) silent.push_back(holder);
  }
  if (silent.empty()) return server_.Say(command.notice);
  server_.Say(notice::LongStep{step->step, step->taken, step->times, std::move(silent)});
}

void Dispatcher::Do(const AssignRow& command, Session& to) {
  const Bytes& order =
      server_.answers.GiveRow(to.worker, command.step, command.row, command.waits, command.ahead);
  if (Status fits = CheckSendable(FrameKind::kControl, order.size()); !fits.ok()) {
    return server_.end.End(fits.WithContext(fmt::format(
        "row {} of step {} lists so many partitions that it cannot be sent: use fewer `parts` or "
        "workers, or another `code`",
        command.row, command.step)));
  }
  if (server_.options.sync.one_each) to.transfer.Opened();
  server_.watch.Assigned(to.worker);
  Publish(to);
  const Header header = to.HeaderFor(FrameKind::kControl, command.step);
  SendBytes(server_.env.transport, to.peer, header, order, Priority::kControl, nullptr);
  server_.observer.OnEvent(
      event::RowAssigned{command.step, command.row, to.worker, server_.Now(), command.ahead});
}

void Dispatcher::Do(const SendRow& command, Session& to) {
  const auto flush = server_.answers.orders().FlushRow(to.worker, command.step, command.row);
  if (flush) to.Send(command.step, *flush);
}

void Dispatcher::Do(const CancelWork& command, Session& to) {
  Send({to.worker, server_.answers.orders().Cancel(to.worker, command.step)});
}

void Dispatcher::Do(const CancelRow& command, Session& to) {
  const auto cancel = server_.answers.orders().CancelRow(to.worker, command.step, command.row);
  if (cancel) Send({to.worker, *cancel});
}

void Dispatcher::Do(const ExtendLease& command, Session& to) {
  const Result<wire::OrderT> order =
      server_.answers.orders().Extend(to.worker, command.step, command.partitions);
  if (!order.ok()) return server_.end.End(order.status());
  server_.watch.Assigned(to.worker);
  Publish(to);
  to.Send(command.step, *order);
}

void Dispatcher::Do(const RevokeLease& command, Session& to) {
  const auto revoke = server_.answers.orders().Revoke(to.worker, command.partitions);
  if (revoke) to.Send(command.step, *revoke);
}

void Dispatcher::Do(const SendLease& command, Session& to) {
  const auto flush = server_.answers.orders().Flush(to.worker);
  if (flush) to.Send(command.step, *flush);
}

void Dispatcher::Do(const DropWorker& command, Session& to) {
  server_.peers.Ban(to.worker, command.why);
}

// A cancel is held if an audit needs the copy, and if it would include an earlier held cancel.
bool Dispatcher::MustHold(const WorkersCancel& cancel) const {
  const auto same = [&](const WorkersCancel& held) { return held.worker == cancel.worker; };
  const bool all = cancel.cancel.order == 0;
  if (server_.remote != nullptr) return false;  // Late copies are compared here only.
  return (all && std::any_of(held_.begin(), held_.end(), same)) ||
         server_.audits.auditor().NeedsCopies(cancel.cancel.step);
}

void Dispatcher::Send(const WorkersCancel& cancel) {
  if (MustHold(cancel)) {
    // The copy that the audit needs may wait for a grant.
    const StepId step = cancel.cancel.step;
    for (const auto& flush : server_.answers.orders().FlushAll(cancel.worker, step)) {
      server_.SessionOf(cancel.worker)->Send(step, flush);
    }
    return held_.push_back(cancel);
  }
  server_.SessionOf(cancel.worker)->Send(0, cancel.cancel);
}

void Dispatcher::SendHeldCancels() {
  if (held_.empty()) return;
  if (server_.audits.auditor().NeedsCopies(held_.front().cancel.step)) return;
  for (const WorkersCancel& held : std::exchange(held_, {})) Send(held);
}

void Dispatcher::Forget(WorkerId worker) {
  std::erase_if(held_, [worker](const WorkersCancel& held) { return held.worker == worker; });
}

// Sends the newest parameters, unless the worker has them.
void Dispatcher::Publish(Session& to) {
  if (server_.remote != nullptr) return;  // The owners of the shards do it.
  const JobOptions& options = server_.options;
  const uint64_t sent = to.Publish(server_.model->version(), server_.model->parameters());
  // The worker's next answer is of this version or a newer one.
  if (options.old_gradients == OldGradients::kGap) to.Forget(server_.model->version());
  // Such a job chooses by the links, or may hold answers on them.
  const bool may_hold =
      AnswersMayWait(options) && options.tolerate > 0 && !options.grant_sends.has_value();
  const bool asks = SchemeNamed(options.code).chosen_later() || may_hold;
  if (asks && options.workers > 1) to.turn.Ask();
  if (options.measure_links) to.link.Ask(sent);
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
