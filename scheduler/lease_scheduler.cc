// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lease_scheduler.h"

#include <algorithm>
#include <utility>

#include "scheduler/placement/plan.h"

namespace motley {

LeaseScheduler::LeaseScheduler(SchedulerOptions options)
    : BulkSynchronous(std::move(options)), copies_(options_.partitions) {}

SchedulerStats LeaseScheduler::Stats() const {
  SchedulerStats stats = totals_;
  stats.tolerates = plan_.copies > 0 ? plan_.copies - 1 : 0;
  uint64_t samples = 0;
  for (WorkerId id = 0; id < members_.size(); ++id) samples += members_[id].stats.samples;
  for (WorkerId id = 0; id < members_.size(); ++id) {
    stats.workers.push_back(members_[id].stats);
    WorkerStats& worker = stats.workers.back();
    worker.speed = members_[id].speed();
    // Leases go their own ways: what the plan meant says little of who did it.
    if (samples > 0) {
      worker.share = static_cast<double>(worker.samples) / static_cast<double>(samples);
    } else if (id < plan_.primary.size()) {
      worker.share = static_cast<double>(plan_.primary[id]) / options_.partitions;
    }
  }
  return stats;
}

void LeaseScheduler::OnOther(const Event& event) {
  std::visit(
      [this](const auto& e) {
        if constexpr (requires { On(e); }) On(e);  // It has no rows.
      },
      event);
}

// --- Between steps ---

// What is where stays there, as far as balanced shares allow.
void LeaseScheduler::WentOn() {
  for (WorkerId id = 0; id < members_.size(); ++id) {
    if (!members_.Live(id)) continue;
    for (PartitionId p = 0; p < options_.partitions; ++p) {
      if (members_[id].holds[p]) copies_[p].push_back(id);
    }
  }
  plan_.placement.holders = copies_;
}

bool LeaseScheduler::PlanAnew() {
  const std::vector<WorkerId> candidates = members_.Candidates();
  steady_.Add(candidates, members_.SpeedsOf(candidates), members_.NoiseOf(candidates));
  const std::vector<double> speeds = steady_.Of(candidates);
  const bool looks =
      options_.shares != Shares::kEqual && pace_.WorthALook(step_, candidates, speeds);
  if (!plan_void_ && !looks) return true;
  pace_.Looked(step_, candidates, speeds);
  const ShareRequest request = RequestFor(options_, candidates, speeds);
  if (!plan_void_ && !MayCallForAnother(request)) {
    pace_.Gained(Gain::kNone);
    return true;
  }
  Result<LeasePlan> fresh = MakeLeasePlan(options_, request, WantedOrThere());
  if (!fresh.ok()) {
    End(fresh.status());
    return false;
  }
  if (plan_void_ || pace_.Gained(CallsForAnother(*fresh, candidates))) {
    Adopt(std::move(fresh).value());
  }
  return true;
}

// Not even if nothing had to move: that is known sooner, and soonest where nobody has to be helped.
bool LeaseScheduler::MayCallForAnother(const ShareRequest& request) const {
  const Result<BalancedShares> fresh = BalanceShares(request);
  if (!fresh.ok()) return true;  // Whoever makes the plan says why.
  ReplanCase numbers;
  numbers.current_seconds = UnaidedSeconds(copies_, request);
  numbers.fresh_seconds = fresh->step_seconds;
  numbers.remaining_steps = options_.steps - step_;
  if (!WorthReplanning(numbers)) return false;
  numbers.current_seconds = EvenedSeconds(copies_, request);
  return WorthReplanning(numbers);
}

// Steps even out what speeds change as far as copies allow, so only what they cannot is a reason to
// move data.
Gain LeaseScheduler::CallsForAnother(const LeasePlan& fresh,
                                     const std::vector<WorkerId>& candidates) const {
  const auto request = [&](double errors) {
    return RequestFor(options_, candidates, steady_.Of(candidates, errors));
  };
  double total_speed = 0;
  for (const double speed : steady_.Of(candidates)) total_speed += speed;
  ReplanCase numbers;
  numbers.current_seconds = EvenedSeconds(copies_, request(0));
  numbers.fresh_seconds = fresh.step_seconds;
  numbers.moved_seconds = fresh.moves * (1.0 * options_.batch / options_.partitions) / total_speed;
  numbers.remaining_steps = options_.steps - step_;
  if (!WorthReplanning(numbers)) return Gain::kNone;
  const bool sure = StepSeconds(request(-kSureOfGain), fresh.primary) <
                    EvenedSeconds(copies_, request(kSureOfGain));
  return sure ? Gain::kSure : Gain::kUnsure;
}

// What the present plan wants first, then what workers hold besides.
Placement LeaseScheduler::WantedOrThere() const {
  Placement all = plan_.placement;
  if (all.holders.empty()) return all;
  for (PartitionId p = 0; p < all.holders.size(); ++p) {
    auto& holders = all.holders[p];
    for (const WorkerId w : copies_[p]) {
      if (std::find(holders.begin(), holders.end(), w) == holders.end()) holders.push_back(w);
    }
  }
  return all;
}

void LeaseScheduler::Adopt(LeasePlan plan) {
  if (plan_.copies > 0) ++totals_.replans;
  if (plan.compromise && plan.compromise != plan_.compromise) SayOf(*plan.compromise);
  plan_ = std::move(plan);
  plan_void_ = false;
  copies_wanted_ = true;
  pace_.Adopted(step_);
}

Result<std::unique_ptr<Scheduler>> MakeLeaseScheduler(const SchedulerOptions& options,
                                                      RowsToReplace /*there are no rows*/) {
  MOTLEY_RETURN_IF_ERROR(CheckBulkOptions(options));
  return std::unique_ptr<Scheduler>(std::make_unique<LeaseScheduler>(options));
}

}  // namespace motley
