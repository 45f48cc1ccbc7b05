// SPDX-License-Identifier: Apache-2.0
// Commands for steps with leases.
#include <utility>

#include "runtime/coordinator/server_job.h"
#include "runtime/links/messages.h"

namespace motley {

void ServerJob::Do(const OpenLeases& command) {
  const Time now = env_.loop.Now();
  began_ = true;
  record_.Opened(command.step, now);
  watch_.Opened(command.step);
  transfers_.Opened();
  const Update update{command.step, command.base_version};
  if (Status opened = answers().Open(update, nullptr, CountsOf(command.step)); !opened.ok()) {
    return End(opened);
  }
  TellOfHeldCancels();
  CodeForm form;
  form.name = "adaptive";
  form.partitions = static_cast<uint32_t>(schedule_.partition_sizes().size());
  observer_.OnEvent(event::StepOpened{command.step, form, now});
}

template <typename Message>
void ServerJob::TellOrder(WorkerId worker, StepId step, const Message& message) {
  Header header = peers_.HeaderTo(worker, FrameKind::kControl);
  header.step = step;
  SendControl(env_.transport, peers_.PeerOf(worker), header, message);
}

void ServerJob::Do(const ExtendLease& command) {
  const WorkerId worker = command.worker;
  if (!peers_.Connected(worker)) return;  // The scheduler will soon receive its loss.
  const Result<wire::OrderT> order =
      answers().orders().Extend(worker, command.step, command.partitions);
  if (!order.ok()) return End(order.status());
  watch_.Assigned(worker);
  Publish(worker);
  TellOrder(worker, command.step, *order);
}

void ServerJob::Do(const RevokeLease& command) {
  if (!peers_.Connected(command.worker)) return;
  const auto revoke = answers().orders().Revoke(command.worker, command.partitions);
  if (revoke) TellOrder(command.worker, command.step, *revoke);
}

void ServerJob::Do(const SendLease& command) {
  if (!peers_.Connected(command.worker)) return;
  const auto flush = answers().orders().Flush(command.worker);
  if (flush) TellOrder(command.worker, command.step, *flush);
}

}  // namespace motley
