// SPDX-License-Identifier: Apache-2.0
// How the policies wait for workers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "scheduler/bulk_synchronous.h"

namespace motley {
namespace {

// When workers come back after all were lost, as after a network's outage, the first one waits so
// long for the others: alone it would be sent all of the data.
constexpr Duration kGatherTime = std::chrono::seconds(2);

std::string Count(size_t count) { return fmt::format("{} worker{}", count, count == 1 ? "" : "s"); }

}  // namespace

void BulkSynchronous::WaitForWorkers(Duration limit) {
  start_limit_ = limit;
  start_deadline_ = now_ + limit;
  wait_.Restart(now_);
}

void BulkSynchronous::WaitForReturn() {
  phase_ = Phase::kStarting;
  start_extended_ = false;
  all_lost_ = true;
  gathered_ = kNever;
  WaitForWorkers(options_.return_timeout);
  if (!NobodyMayCome() && options_.return_timeout > Duration::zero()) {
    MOTLEY_ASSERT(last_lost_);
    Say(notice::AllGone{last_lost_->worker, last_lost_->why, start_limit_});
  }
  TryStart();
}

bool BulkSynchronous::NobodyMayCome() const {
  for (WorkerId id = 0; id < options_.workers; ++id) {
    if (members_.Live(id) || !not_coming_[id]) return false;
  }
  return true;
}

bool BulkSynchronous::WaitsForMore() {
  if (!all_lost_ || AllAreHere() || members_.ReadyCount() >= had_) return false;
  if (gathered_ == kNever) gathered_ = now_ + kGatherTime;
  return now_ < gathered_;
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
    if (!ready && !not_coming_[id]) return false;
  }
  return true;
}

bool BulkSynchronous::OthersHadTime() {
  if (!options_.gather_time) return false;
  const uint32_t ready = members_.ReadyCount();
  if (ready < options_.least_workers) {
    gather_deadline_ = kNever;
    if (ready > 0 && !std::exchange(told_least_, true)) {
      Say(notice::FewReady{ready, options_.least_workers});
    }
    return false;
  }
  if (gather_deadline_ == kNever) {
    gather_deadline_ = now_ + *options_.gather_time;
    if (*options_.gather_time > Duration::zero()) {
      Say(notice::BeginsSoon{ready, options_.workers, *options_.gather_time});
    }
  }
  return now_ >= gather_deadline_;
}

void BulkSynchronous::TryStart() {
  const uint32_t ready = members_.ReadyCount();
  if (ready == 0) gathered_ = kNever;  // Whoever waited for others is gone, too.
  const bool enough = ready > 0 && (begun_ || ready >= options_.least_workers);
  if (enough && (AllAreHere() || start_extended_ || begun_)) {
    if (!WaitsForMore()) Begin();
    return;
  }
  if (!begun_ && OthersHadTime()) return Begin();
  const bool hopeless = begun_ && NobodyMayCome();
  if (now_ < start_deadline_ && !hopeless) {
    if (now_ >= wait_.Due()) SayWhoIsAwaited();
    return;
  }
  if (enough) return Begin();
  if (members_.LiveCount() == 0 && begun_) {
    return End(
        Status::Unavailable(fmt::format(
            "no worker is left at step {}{}, so the job cannot go on; start it again with workers "
            "that stay",
            step_,
            hopeless ? ""
                     : fmt::format(", and none came within {:.0f} s", ToSeconds(start_limit_)))),
        last_lost_);
  }
  const bool too_few = members_.LiveCount() < (ready > 0 ? options_.least_workers : 1);
  if (too_few || start_extended_) return End(TooFew());
  // Somebody is there and may only be slow to measure itself.
  start_extended_ = true;
  WaitForWorkers(options_.start_timeout);
  Say(notice::WaitsAgain{members_.LiveCount(), ready > 0});
}

Status BulkSynchronous::TooFew() const {
  const std::string waited =
      fmt::format("{} after {:.0f} s", !begun_ ? "the job cannot start" : "the job cannot go on",
                  ToSeconds(start_limit_));
  if (members_.LiveCount() == 0) {
    return Status::Unavailable(fmt::format(
        "{}: none of {} joined; check that they run, reach this address and show the right token",
        waited, Count(options_.workers)));
  }
  if (const uint32_t ready = members_.ReadyCount(); ready > 0) {
    return Status::Unavailable(fmt::format(
        "{}: {} ready, and it needs {}; start more, or ask for fewer with `min_workers`", waited,
        Count(ready), options_.least_workers));
  }
  return Status::Unavailable(
      fmt::format("{}: {} joined, but none got ready for work; look at "
                  "their logs",
                  waited, Count(members_.LiveCount())));
}

void BulkSynchronous::Begin() {
  const uint32_t ready = members_.ReadyCount();
  if (ready < options_.workers && !begun_) {
    std::vector<WorkerId> missing;
    for (WorkerId id = 0; id < options_.workers; ++id) {
      if (!members_.Live(id) || !members_[id].ready) missing.push_back(id);
    }
    Say(notice::Starting{ready, options_.workers, std::move(missing),
                         /*may_follow=*/options_.gather_time.has_value()});
  }
  plan_void_ = true;
  all_lost_ = false;
  gathered_ = gather_deadline_ = kNever;
  NextStep();
}

void BulkSynchronous::SayWhoIsAwaited() {
  notice::Waiting waiting{{}, 0, {}, std::min(start_deadline_, gather_deadline_) - now_};
  for (WorkerId id = 0; id < members_.size(); ++id) {
    if (members_.Live(id)) {
      if (!members_[id].ready) waiting.unready.push_back(id);
    } else if (!begun_ && id < not_coming_.size() && !not_coming_[id]) {
      waiting.absent.push_back(id);
    }
  }
  if (const uint32_t live = members_.LiveCount(); options_.gather_time && !begun_) {
    waiting.absent.clear();
    waiting.more = options_.least_workers - std::min(live, options_.least_workers);
  }
  wait_.Told(now_);
  const bool nobody = waiting.absent.empty() && waiting.more == 0 && waiting.unready.empty();
  if (!nobody || all_lost_) Say(std::move(waiting));
}

}  // namespace motley
