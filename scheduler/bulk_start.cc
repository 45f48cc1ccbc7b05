// SPDX-License-Identifier: Apache-2.0
// How the policies wait for workers.
#include <fmt/format.h>

#include <vector>

#include "scheduler/bulk_synchronous.h"

namespace motley {
namespace {

std::string Count(size_t count) { return fmt::format("{} worker{}", count, count == 1 ? "" : "s"); }

}  // namespace

void BulkSynchronous::WaitForWorkers() {
  start_deadline_ = now_ + options_.start_timeout;
  wait_.Restart(now_);
}

void BulkSynchronous::On(const WorkerNotComing& event) {
  if (event.worker >= not_coming_.size()) return;
  not_coming_[event.worker] = true;
  if (phase_ == Phase::kStarting) TryStart();
}

bool BulkSynchronous::AllAreHere() const {
  if (members_.ReadyCount() >= options_.workers) return true;
  for (WorkerId id = 0; id < options_.workers; ++id) {
    const bool ready = members_.Live(id) && members_[id].ready;
    if (!ready && (members_.Live(id) || !not_coming_[id])) return false;
  }
  return true;
}

void BulkSynchronous::TryStart() {
  const uint32_t ready = members_.ReadyCount();
  if (ready > 0 && (AllAreHere() || start_extended_ || Begun())) return Begin();
  if (now_ < start_deadline_) {
    if (now_ >= wait_.Due()) SayWhoIsAwaited();
    return;
  }
  if (ready > 0) return Begin();
  const std::string waited =
      fmt::format("{} after {:.0f} s", !Begun() ? "the job cannot start" : "the job cannot go on",
                  ToSeconds(options_.start_timeout));
  if (members_.LiveCount() == 0) {
    return End(Status::Unavailable(fmt::format(
        "{}: none of {} joined; check that they run, reach this address and show the right token",
        waited, Count(options_.workers))));
  }
  if (start_extended_) {
    return End(Status::Unavailable(
        fmt::format("{}: {} joined, but none got ready for work; look at their logs", waited,
                    Count(members_.LiveCount()))));
  }
  // Somebody is there and may only be slow to measure itself.
  start_extended_ = true;
  WaitForWorkers();
  Say(fmt::format("{} joined but none is ready yet; waiting once more",
                  Count(members_.LiveCount())));
}

void BulkSynchronous::Begin() {
  const uint32_t ready = members_.ReadyCount();
  if (ready < options_.workers && !Begun()) {
    std::vector<WorkerId> missing;
    for (WorkerId id = 0; id < options_.workers; ++id) {
      if (!members_.Live(id) || !members_[id].ready) missing.push_back(id);
    }
    Say(fmt::format("starting with {} of {}; missing: {}", ready, Count(options_.workers),
                    NameWorkers(missing)));
  }
  plan_void_ = true;
  NextStep();
}

void BulkSynchronous::SayWhoIsAwaited() {
  std::vector<WorkerId> away, busy;
  for (WorkerId id = 0; id < members_.size(); ++id) {
    if (members_.Live(id)) {
      if (!members_[id].ready) busy.push_back(id);
    } else if (!Begun() && id < not_coming_.size() && !not_coming_[id]) {
      away.push_back(id);
    }
  }
  std::string whom = away.empty() ? "" : NameWorkers(away) + " to join";
  if (!busy.empty()) whom += (whom.empty() ? "" : " and ") + NameWorkers(busy) + " to get ready";
  wait_.Told(now_);
  if (whom.empty()) return;
  Say(fmt::format("waiting for {}, at most {:.0f} s more", whom,
                  ToSeconds(start_deadline_ - now_)));
}

}  // namespace motley
