// SPDX-License-Identifier: Apache-2.0
#include "sim/digest_observer.h"

#include <bit>
#include <variant>

namespace motley {
namespace {

void MixCommand(Digest& digest, const OpenStep& open) {
  digest.Mix(open.step);
  digest.Mix(open.code->name);
  digest.Mix(open.code->stragglers);
  for (const auto& row : open.code->rows) {
    digest.Mix(row.size());
    if (row.empty()) continue;
    digest.Mix(row.front().partition);
    digest.Mix(std::bit_cast<uint64_t>(row.front().coefficient.real()));
  }
}

void MixCommand(Digest& digest, const PlacePartitions& place) {
  digest.Mix(place.worker);
  for (const PartitionId partition : place.partitions) digest.Mix(partition);
  if (place.copies) digest.Mix(1);
}

void MixCommand(Digest& digest, const AssignRow& assign) {
  digest.Mix(assign.worker);
  digest.Mix(assign.step);
  digest.Mix(assign.row);
  if (assign.waits) digest.Mix(1);
  if (assign.ahead) digest.Mix(2);
}

void MixCommand(Digest& digest, const SendRow& send) {
  digest.Mix(send.worker);
  digest.Mix(send.step);
  digest.Mix(send.row);
}

void MixCommand(Digest& digest, const CancelWork& cancel) {
  digest.Mix(cancel.worker);
  digest.Mix(cancel.step);
}

void MixCommand(Digest& digest, const CancelRow& cancel) {
  digest.Mix(cancel.worker);
  digest.Mix(cancel.step);
  digest.Mix(cancel.row);
}

void MixCommand(Digest& digest, const CommitStep& commit) { digest.Mix(commit.step); }

void MixCommand(Digest& digest, const DropWorker& drop) {
  digest.Mix(drop.worker);
  digest.Mix(drop.why.ToString());
}

void MixCommand(Digest& digest, const EndJob& end) { digest.Mix(end.status.ToString()); }

// The notice's worker and step. Its other values follow from these and from the commands.
void MixCommand(Digest& digest, const Notify& notify) {
  digest.Mix(notify.notice.index());
  const auto mix = [&](const auto& notice) {
    if constexpr (requires { notice.worker; }) digest.Mix(notice.worker);
    if constexpr (requires { notice.step; }) digest.Mix(notice.step);
  };
  std::visit(mix, notify.notice);
}

void MixCommand(Digest& digest, const OpenLeases& open) { digest.Mix(open.step); }

template <typename Lease>
void MixLease(Digest& digest, const Lease& lease) {
  digest.Mix(lease.worker);
  digest.Mix(lease.step);
  for (const PartitionId partition : lease.partitions) digest.Mix(partition);
}

void MixCommand(Digest& digest, const ExtendLease& extend) { MixLease(digest, extend); }

void MixCommand(Digest& digest, const RevokeLease& revoke) { MixLease(digest, revoke); }

void MixCommand(Digest& digest, const SendLease& send) {
  digest.Mix(send.worker);
  digest.Mix(send.step);
}

}  // namespace

void DigestObserver::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void DigestObserver::On(const event::CommandGiven& event) {
  digest_.Mix(event.command.index());
  digest_.Mix(static_cast<uint64_t>(event.now.time_since_epoch().count()));
  std::visit([this](const auto& each) { MixCommand(digest_, each); }, event.command);
}

void DigestObserver::On(const event::StepApproximated& event) {
  digest_.Mix(event.step);
  for (const double weight : event.sum.weights) digest_.Mix(std::bit_cast<uint64_t>(weight));
}

void DigestObserver::On(const event::StepApplied& event) {
  digest_.Mix(event.step);
  digest_.Mix(event.parameters);
  digest_.Mix(std::bit_cast<uint64_t>(event.batch_loss));
  digest_.Mix(static_cast<uint64_t>(event.now.time_since_epoch().count()));
}

}  // namespace motley
