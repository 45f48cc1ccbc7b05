// SPDX-License-Identifier: Apache-2.0
#include "scheduler/leases/lease_plans.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "scheduler/placement/plan.h"

namespace motley {
namespace {

// In each step, copies that no lease waits for may occupy the links for the time of this many
// steps.
constexpr double kCopiesSteps = 2;
// The number of such copies per worker while the time of a transfer is not known.
constexpr double kCopiesPerStep = 4;
// A trial worker gets a partition as if it took this part of the predicted step.
constexpr double kTry = 0.4;

bool Has(const std::vector<WorkerId>& holders, WorkerId worker) {
  return std::find(holders.begin(), holders.end(), worker) != holders.end();
}

}  // namespace

LeasePlans::LeasePlans(JobState& job) : job_(job), copies_(job.options.partitions) {
  bool any = false;
  for (WorkerId id = 0; id < job.members.size(); ++id) {
    if (!job.members.Live(id)) continue;
    for (PartitionId p = 0; p < copies_.size(); ++p) {
      if (!job.members[id].holds[p]) continue;
      copies_[p].push_back(id);
      any = true;
    }
  }
  if (any) plan_.placement.holders = copies_;
  job.transfers.WantCopies(true);
}

Status LeasePlans::Update() {
  const std::vector<WorkerId> candidates = job_.members.Candidates();
  steady_.Add(candidates, job_.members.SpeedsOf(candidates), job_.members.NoiseOf(candidates));
  const std::vector<double> speeds = steady_.Of(candidates);
  const bool looks =
      job_.options.shares != Shares::kEqual && pace_.WorthALook(job_.version, candidates, speeds);
  if (!job_.plan_void && !looks) return Status::Ok();
  pace_.Looked(job_.version, candidates, speeds);
  const ShareRequest request = RequestFor(job_.options, candidates, speeds);
  if (!job_.plan_void && !MayCallForAnother(request)) {
    pace_.Gained(Gain::kNone);
    return Status::Ok();
  }
  MOTLEY_ASSIGN_OR_RETURN(LeasePlan fresh, MakeLeasePlan(job_.options, request, WantedOrThere()));
  if (job_.plan_void || pace_.Gained(CallsForAnother(fresh, candidates))) Adopt(std::move(fresh));
  return Status::Ok();
}

// A quick check that no other plan can gain enough, even if nothing had to move. It is quickest if
// no worker needs help.
bool LeasePlans::MayCallForAnother(const ShareRequest& request) const {
  const Result<BalancedShares> fresh = BalanceShares(request);
  if (!fresh.ok()) return true;  // MakeLeasePlan reports the reason.
  ReplanCase numbers;
  numbers.current_seconds = UnaidedSeconds(copies_, request);
  numbers.fresh_seconds = fresh->step_seconds;
  numbers.remaining_steps = job_.options.steps - job_.version;
  if (!WorthReplanning(numbers)) return false;
  numbers.current_seconds = EvenedSeconds(copies_, request);
  return WorthReplanning(numbers);
}

// Within a step, leases even out changed speeds as far as copies allow. Only the remaining
// imbalance is a reason to move data.
Gain LeasePlans::CallsForAnother(const LeasePlan& fresh,
                                 const std::vector<WorkerId>& candidates) const {
  const auto request = [&](double errors) {
    return RequestFor(job_.options, candidates, steady_.Of(candidates, errors));
  };
  double total_speed = 0;
  for (const double speed : steady_.Of(candidates)) total_speed += speed;
  ReplanCase numbers;
  numbers.current_seconds = EvenedSeconds(copies_, request(0));
  numbers.fresh_seconds = fresh.step_seconds;
  numbers.moved_seconds = fresh.moves * job_.samples_per_partition() / total_speed;
  numbers.remaining_steps = job_.options.steps - job_.version;
  if (!WorthReplanning(numbers)) return Gain::kNone;
  const bool sure = StepSeconds(request(-kSureOfGain), fresh.primary) <
                    EvenedSeconds(copies_, request(kSureOfGain));
  return sure ? Gain::kSure : Gain::kUnsure;
}

// Copies that the present plan wants come first, then the others that workers hold.
Placement LeasePlans::WantedOrThere() const {
  Placement all = plan_.placement;
  if (all.holders.empty()) return all;
  for (PartitionId p = 0; p < all.holders.size(); ++p) {
    for (const WorkerId w : copies_[p]) {
      if (!Has(all.holders[p], w)) all.holders[p].push_back(w);
    }
  }
  return all;
}

// Others would have to be sent only those partitions of a worker that nobody else has.
void LeasePlans::Adopt(LeasePlan plan) {
  if (plan_.copies > 0) ++job_.totals.replans;
  if (plan.compromise && plan.compromise != plan_.compromise) job_.Say(*plan.compromise);
  plan_ = std::move(plan);
  for (WorkerId id = 0; id < job_.members.size(); ++id) {
    const bool alone = plan_.copies <= 1 && id < plan_.primary.size();
    job_.members[id].to_send = alone ? plan_.primary[id] : 0;
  }
  job_.plan_void = false;
  job_.transfers.WantCopies(true);
  pace_.Adopted(job_.version);
}

void LeasePlans::AddCopies(WorkerId worker, const std::vector<PartitionId>& partitions) {
  for (const PartitionId p : partitions) {
    std::vector<WorkerId>& holders = copies_[p];
    if (std::find(holders.begin(), holders.end(), worker) == holders.end()) {
      holders.push_back(worker);
    }
  }
}

void LeasePlans::DropCopies(WorkerId worker) {
  for (auto& holders : copies_) std::erase(holders, worker);
  job_.transfers.WantCopies(true);
}

void LeasePlans::PutPrimariesFirst() {
  for (PartitionId p = 0; p < copies_.size(); ++p) {
    auto& holders = copies_[p];
    const auto first = std::find(holders.begin(), holders.end(), plan_.placement.holders[p][0]);
    if (first != holders.end()) std::rotate(holders.begin(), first, first + 1);
  }
}

LeasePlans::Sendings LeasePlans::WithoutCopies(const MaySend& may) const {
  Sendings missing(job_.members.size());
  for (PartitionId p = 0; p < copies_.size(); ++p) {
    const WorkerId primary = plan_.placement.holders[p][0];
    if (copies_[p].empty() && may(primary)) missing[primary].push_back(p);
  }
  return missing;
}

// The predicted step time. Equal shares are planned as if all workers were equally fast, and leases
// even them out.
double LeasePlans::EvenStepSeconds() const {
  if (job_.options.shares != Shares::kEqual) return plan_.step_seconds;
  const std::vector<double> speeds = job_.members.SpeedsOf(job_.members.Candidates());
  return job_.options.batch / std::accumulate(speeds.begin(), speeds.end(), 0.0);
}

// How many copies may follow those that are on their way, per worker on average. Fewer would be
// late where they matter. More would come in an order that may be out of date by then.
LeasePlans::CopiesRoom LeasePlans::RoomForCopies() const {
  const double takes = job_.deadlines.TransferSeconds(1);
  const double each = takes > 0 ? kCopiesSteps * EvenStepSeconds() / takes : kCopiesPerStep;
  CopiesRoom room;
  room.of.assign(job_.members.size(), 0);
  bool none = true;
  for (const WorkerId id : job_.members.Candidates()) {
    const uint32_t on_their_way = job_.transfers.CopiesTo(id);
    room.all += each - on_their_way;
    room.of[id] = on_their_way > 0 ? each - on_their_way : std::max(1.0, each);
    none = none && on_their_way == 0;
  }
  if (none) room.all = std::max(1.0, room.all);
  return room;
}

LeasePlans::Sendings LeasePlans::CopiesToSend(const MaySend& may) {
  bool wanted = false;
  CopiesRoom room = RoomForCopies();
  Sendings sent(job_.members.size());
  const auto send = [&](PartitionId p, WorkerId w) {
    const bool sent_before = job_.members.Live(w) && job_.members[w].holds[p];
    wanted = wanted || !sent_before || job_.transfers.ComingTo(w).contains(p);
    if (sent_before) return;
    if (!may(w) || room.all < 1 || room.of[w] < 1) return;
    sent[w].push_back(p);
    room.all -= 1;
    room.of[w] -= 1;
  };
  const auto& placement = plan_.placement.holders;
  for (PartitionId p = 0; p < copies_.size(); ++p) send(p, placement[p].front());
  for (PartitionId p = 0; p < copies_.size(); ++p) {
    for (size_t i = 1; i < placement[p].size(); ++i) send(p, placement[p][i]);
  }
  job_.transfers.WantCopies(wanted);
  return sent;
}

StepWorker LeasePlans::Predict(WorkerId worker, double speed) const {
  const LeaseHabits& habits = job_.habits[worker];
  StepWorker known;
  known.seconds_per_partition = job_.options.batch / (job_.options.partitions * speed);
  if (habits.tried) {
    known.seconds_per_partition = std::min(known.seconds_per_partition, kTry * EvenStepSeconds());
  }
  known.data_seconds = ToSeconds(job_.transfers.Left(worker, job_.now));
  known.overhead_seconds = habits.overhead;
  // A worker that gets no work because of a guess would never be measured, so it gets a trial, too.
  const LeaseHabits unknown;
  const bool latency = !habits.tried || !habits.behind_data;
  const bool vector = !habits.tried || !habits.vector_behind_data;
  known.latency_seconds = (latency ? habits : unknown).latency;
  const double message_seconds = (vector ? habits : unknown).message;
  // One vector does not show which part of its time belongs to the shared link and which to the
  // worker's own. Many vectors do.
  known.message_seconds = std::min(job_.transfers.link().message_seconds(), message_seconds);
  known.send_seconds = message_seconds - known.message_seconds;
  known.report_every = static_cast<uint32_t>(std::lround(habits.chunk));
  return known;
}

}  // namespace motley
