// SPDX-License-Identifier: Apache-2.0
// Commands for steps with leases.
#include <utility>

#include "runtime/coordinator/server_job.h"
#include "runtime/links/messages.h"

namespace motley {
namespace {

template <typename Message>
void Send(Transport& transport, const Session& to, StepId step, const Message& message) {
  SendControl(transport, to.peer, to.HeaderFor(FrameKind::kControl, step), message);
}

}  // namespace

void ServerJob::Do(const OpenLeases& command) {
  if (!Open({command.step, command.base_version}, nullptr)) return;
  CodeForm form;
  form.name = "adaptive";
  form.partitions = static_cast<uint32_t>(schedule_.partition_sizes().size());
  observer_.OnEvent(event::StepOpened{command.step, form, env_.loop.Now()});
}

void ServerJob::Do(const ExtendLease& command) {
  const WorkerId worker = command.worker;
  Session* session = SessionOf(worker);
  if (session == nullptr) return;
  const Result<wire::OrderT> order =
      answers_->orders().Extend(worker, command.step, command.partitions);
  if (!order.ok()) return End(order.status());
  watch_.Assigned(worker);
  Publish(*session);
  Send(env_.transport, *session, command.step, *order);
}

void ServerJob::Do(const RevokeLease& command) {
  Session* session = SessionOf(command.worker);
  if (session == nullptr) return;
  const auto revoke = answers_->orders().Revoke(command.worker, command.partitions);
  if (revoke) Send(env_.transport, *session, command.step, *revoke);
}

void ServerJob::Do(const SendLease& command) {
  Session* session = SessionOf(command.worker);
  if (session == nullptr) return;
  const auto flush = answers_->orders().Flush(command.worker);
  if (flush) Send(env_.transport, *session, command.step, *flush);
}

}  // namespace motley
