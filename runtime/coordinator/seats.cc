// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/seats.h"

#include <algorithm>

namespace motley {

Status Seats::Check(const wire::JoinT& join, const WorkerOrigin& origin) const {
  if (banned_.contains(origin)) {
    return Status::Permission(
        "this worker was sent away for its bad answers and is not let in again: look at its "
        "machine, or start it under another `name`");
  }
  if (join.incarnation == 0) return Status::InvalidArgument("a join without an incarnation");
  for (const Seat& seat : seats_) {
    if (seat.incarnation == join.incarnation) {
      return Status::Conflict("this incarnation was here already: start the worker again");
    }
  }
  return Status::Ok();
}

std::optional<WorkerId> Seats::Find(const wire::JoinT& join,
                                    const std::function<bool(PeerId)>& silent) const {
  const auto begin = static_cast<WorkerId>(join.holds_only ? workers_ : 0);
  const auto end = static_cast<WorkerId>(join.holds_only ? seats_.size() : workers_);
  const auto first = [&](const auto& fits) -> std::optional<WorkerId> {
    for (WorkerId worker = begin; worker < end; ++worker) {
      if (fits(seats_[worker])) return worker;
    }
    return std::nullopt;
  };
  const auto own = [&](const Seat& seat) { return join.node != 0 && seat.process == join.node; };
  const auto fresh = [](const Seat& seat) { return seat.incarnation == 0; };
  const auto empty = [](const Seat& seat) { return seat.peer == 0; };
  const auto idle = [&](const Seat& seat) { return seat.overdue || silent(seat.peer); };
  if (const auto found = first(own)) return found;
  const auto hint = static_cast<size_t>(join.index_hint);
  if (join.index_hint >= 0 && hint >= begin && hint < end && empty(seats_[hint])) {
    return static_cast<WorkerId>(hint);
  }
  // Seats that nobody ever had come first, because a lost worker may come back to its own.
  if (const auto found = first(fresh)) return found;
  if (const auto found = first(empty)) return found;
  return first(idle);
}

void Seats::Leave(WorkerId worker) {
  seats_[worker].peer = 0;
  ++times_lost_[seats_[worker].origin];
}

uint32_t Seats::TimesLost(WorkerId worker) const {
  const WorkerOrigin& origin = seats_[worker].origin;
  const auto lost = times_lost_.find(origin);
  if (lost == times_lost_.end()) return 0;
  const auto same = static_cast<uint32_t>(std::count_if(
      seats_.begin(), seats_.end(), [&](const Seat& seat) { return seat.origin == origin; }));
  return (lost->second + same - 1) / same;
}

}  // namespace motley
