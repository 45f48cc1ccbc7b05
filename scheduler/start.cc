// SPDX-License-Identifier: Apache-2.0
#include "scheduler/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

// For the other workers, after the loss of all.
constexpr Duration kGatherTime = std::chrono::seconds(2);

std::string Count(size_t count) { return fmt::format("{} worker{}", count, count == 1 ? "" : "s"); }

}  // namespace

Start::Start(JobState& job) : job_(job), not_coming_(job.options.workers, false) {}

void Start::WaitFor(Duration limit) {
  limit_ = limit;
  deadline_ = job_.now + limit;
  wait_.Restart(job_.now);
}

void Start::WaitForReturn() {
  extended_ = false;
  all_lost_ = true;
  gathered_ = kNever;
  WaitFor(job_.options.return_timeout);
  if (NobodyMayCome() || job_.options.return_timeout == Duration::zero()) return;
  MOTLEY_ASSERT(last_lost_);
  job_.Say(notice::AllGone{last_lost_->worker, last_lost_->why, limit_});
}

Time Start::Due() const {
  return gathered_ != kNever ? gathered_ : std::min({deadline_, gather_deadline_, wait_.Due()});
}

void Start::NotComing(WorkerId worker) {
  if (worker < not_coming_.size()) not_coming_[worker] = true;
}

void Start::Comes(WorkerId worker) {
  if (worker < not_coming_.size()) not_coming_[worker] = false;
}

void Start::StepOpened() { had_ = std::max(1U, job_.members.ReadyCount()); }

bool Start::NobodyMayCome() const {
  for (WorkerId id = 0; id < job_.options.workers; ++id) {
    if (job_.members.Live(id) || !not_coming_[id]) return false;
  }
  return true;
}

// Waits a moment for workers that are coming back.
bool Start::WaitsForMore() {
  if (!all_lost_ || AllAreHere() || job_.members.ReadyCount() >= had_) return false;
  if (gathered_ == kNever) gathered_ = job_.now + kGatherTime;
  return job_.now < gathered_;
}

// True if all workers that may still come are here.
bool Start::AllAreHere() const {
  if (job_.members.ReadyCount() >= job_.options.workers) return true;
  for (WorkerId id = 0; id < job_.options.workers; ++id) {
    const bool ready = job_.members.Live(id) && job_.members[id].ready;
    if (!ready && !not_coming_[id]) return false;
  }
  return true;
}

// True if the workers beyond the least had time to get ready.
bool Start::OthersHadTime() {
  if (!job_.options.gather_time) return false;
  const uint32_t ready = job_.members.ReadyCount();
  if (ready < job_.options.least_workers) {
    gather_deadline_ = kNever;
    if (ready > 0 && !std::exchange(told_least_, true)) {
      job_.Say(notice::FewReady{ready, job_.options.least_workers});
    }
    return false;
  }
  if (gather_deadline_ == kNever) {
    gather_deadline_ = job_.now + *job_.options.gather_time;
    if (*job_.options.gather_time > Duration::zero()) {
      job_.Say(notice::BeginsSoon{ready, job_.options.workers, *job_.options.gather_time});
    }
  }
  return job_.now >= gather_deadline_;
}

Start::Verdict Start::Try(JobEnd& end) {
  const auto begin = [this] {
    Begin();
    return Verdict::kBegin;
  };
  const uint32_t ready = job_.members.ReadyCount();
  if (ready == 0) gathered_ = kNever;  // The workers that waited for others are gone, too.
  const bool enough = ready > 0 && (begun() || ready >= job_.options.least_workers);
  if (enough && (AllAreHere() || extended_ || begun())) {
    return WaitsForMore() ? Verdict::kWait : begin();
  }
  if (!begun() && OthersHadTime()) return begin();
  const bool hopeless = begun() && NobodyMayCome();
  if (job_.now < deadline_ && !hopeless) {
    if (job_.now >= wait_.Due()) ReportWhoIsAwaited();
    return Verdict::kWait;
  }
  if (enough) return begin();
  const uint32_t live = job_.members.LiveCount();
  if (live == 0 && begun()) {
    end = NobodyIsLeft(hopeless);
    return Verdict::kEnd;
  }
  if (live < (ready > 0 ? job_.options.least_workers : 1) || extended_) {
    end = {TooFew(), {}};
    return Verdict::kEnd;
  }
  // A worker is there and may only be slow to measure itself.
  extended_ = true;
  WaitFor(job_.options.start_timeout);
  job_.Say(notice::WaitsAgain{live, ready > 0});
  return Verdict::kWait;
}

JobEnd Start::NobodyIsLeft(bool hopeless) const {
  const std::string waited =
      hopeless ? "" : fmt::format(", and none came within {:.0f} s", ToSeconds(limit_));
  return {Status::Unavailable(fmt::format(
              "no worker is left at step {}{}, so the job cannot go on; start it again with "
              "workers that stay",
              job_.version, waited)),
          last_lost_};
}

Status Start::TooFew() const {
  const std::string waited =
      fmt::format("{} after {:.0f} s", !begun() ? "the job cannot start" : "the job cannot go on",
                  ToSeconds(limit_));
  if (job_.members.LiveCount() == 0) {
    return Status::Unavailable(fmt::format(
        "{}: none of {} joined; check that they run, reach this address and show the right token",
        waited, Count(job_.options.workers)));
  }
  if (const uint32_t ready = job_.members.ReadyCount(); ready > 0) {
    return Status::Unavailable(fmt::format(
        "{}: {} ready, and it needs {}; start more, or ask for fewer with `min_workers`", waited,
        Count(ready), job_.options.least_workers));
  }
  return Status::Unavailable(
      fmt::format("{}: {} joined, but none got ready for work; look at their logs", waited,
                  Count(job_.members.LiveCount())));
}

void Start::Begin() {
  const uint32_t ready = job_.members.ReadyCount();
  if (ready < job_.options.workers && !begun()) {
    std::vector<WorkerId> missing;
    for (WorkerId id = 0; id < job_.options.workers; ++id) {
      if (!job_.members.Live(id) || !job_.members[id].ready) missing.push_back(id);
    }
    job_.Say(notice::Starting{ready, job_.options.workers, std::move(missing),
                              /*may_follow=*/job_.options.gather_time.has_value()});
  }
  job_.plan_void = true;
  all_lost_ = false;
  gathered_ = gather_deadline_ = kNever;
}

void Start::ReportWhoIsAwaited() {
  notice::Waiting waiting{{}, 0, {}, std::min(deadline_, gather_deadline_) - job_.now};
  const Membership& members = job_.members;
  for (WorkerId id = 0; id < members.size(); ++id) {
    if (members.Live(id)) {
      if (!members[id].ready) waiting.unready.push_back(id);
    } else if (!begun() && id < not_coming_.size() && !not_coming_[id]) {
      waiting.absent.push_back(id);
    }
  }
  if (const uint32_t live = members.LiveCount(); job_.options.gather_time && !begun()) {
    waiting.absent.clear();
    waiting.more = job_.options.least_workers - std::min(live, job_.options.least_workers);
  }
  wait_.Told(job_.now);
  const bool nobody = waiting.absent.empty() && waiting.more == 0 && waiting.unready.empty();
  if (!nobody || all_lost_) job_.Say(std::move(waiting));
}

}  // namespace motley
