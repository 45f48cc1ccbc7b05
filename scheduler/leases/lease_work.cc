// SPDX-License-Identifier: Apache-2.0
#include "scheduler/leases/lease_work.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace motley {
namespace {

// In a step without messages, ticks become as rare as this part of the silence.
constexpr int kQuietTicks = 16;
constexpr int kUndelivered = 2;  // A vector may take this many times the limit of a message.
// The limit for answers doubles each time a worker comes back after it, at most this often.
constexpr uint32_t kMostBackoff = 6;

}  // namespace

LeaseWork::LeaseWork(JobState& job, const UpdateState& update, LeasePlans& plans)
    : job_(job), update_(update), plans_(plans) {}

// --- The beginning ---

void LeaseWork::Open() {
  job_.habits.resize(job_.members.size());
  watches_.assign(job_.members.size(), LeaseWatch{});
  opened_ = last_.event = last_.message = last_.slice = answers_due_ = job_.now;
  leased_.assign(job_.options.partitions, false);
  silence_due_ = kNever;
  job_.Do(OpenLeases{update_.id, update_.base_version});
  const std::vector<WorkerId> candidates = job_.members.Candidates();
  const auto may = [this](WorkerId id) {
    return job_.members[id].free && !update_.refusals.Has(id);
  };
  const bool all_rest = std::none_of(candidates.begin(), candidates.end(),
                                     [&](WorkerId id) { return may(id) && !Rests(job_, id); });
  for (const WorkerId id : candidates) {
    watches_[id].takes_part = may(id) && (all_rest || !Rests(job_, id));
  }
  // Partitions that nobody holds go to the workers planned for them, before any leases.
  auto missing = plans_.WithoutCopies([this](WorkerId id) { return TakesPart(id); });
  for (WorkerId w = 0; w < missing.size(); ++w) {
    watches_[w].placed = watches_[w].first = static_cast<uint32_t>(missing[w].size());
    if (!missing[w].empty()) Place(w, std::move(missing[w]), Transfers::Why::kNeeded);
  }
  plans_.PutPrimariesFirst();
  policy_ = std::make_unique<AdaptiveStep>(Setting());
  std::vector<StepCommand> commands;
  policy_->Begin(commands);
  CarryOut(commands);
}

StepSetting LeaseWork::Setting() {
  StepSetting setting;
  if (policy_ != nullptr) setting = policy_->TakeSetting();  // Most of it stays the same.
  setting.least_pace_seconds = kLeastPaceSeconds;
  StepWorker nobody;
  nobody.live = false;
  setting.workers.assign(job_.members.size(), nobody);
  const std::vector<WorkerId> candidates = job_.members.Candidates();
  const std::vector<double> speeds = job_.members.SpeedsOf(candidates);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const WorkerId id = candidates[i];
    StepWorker& known = setting.workers[id];
    known = plans_.Predict(id, speeds[i]);
    known.live = watches_[id].takes_part;
    watches_[id].seconds = known.seconds_per_partition;
  }
  setting.holders = plans_.copies();
  for (WorkerId id = 0; id < job_.members.size(); ++id) {
    for (const auto& [p, why] : job_.transfers.ComingTo(id)) {
      if (why == Transfers::Why::kCopies) std::erase(setting.holders[p], id);
    }
  }
  return setting;
}

bool LeaseWork::TakesPart(WorkerId worker) const {
  return worker < watches_.size() && watches_[worker].takes_part;
}

bool LeaseWork::InStep(WorkerId worker, StepId step) const {
  return update_.open() && step == update_.id && TakesPart(worker);
}

void LeaseWork::MakeRoomFor(WorkerId worker) {
  if (worker < watches_.size()) return;
  watches_.resize(job_.members.size());
  job_.habits.resize(job_.members.size());
}

// --- The policy ---

bool LeaseWork::Tell(const StepEvent& event) {
  last_.event = job_.now;
  std::vector<StepCommand> commands;
  policy_->OnEvent(event, ToSeconds(job_.now - opened_), commands);
  return CarryOut(commands);
}

bool LeaseWork::Join(WorkerId id, bool empty_handed) {
  last_.event = job_.now;
  const std::vector<WorkerId> candidates = job_.members.Candidates();
  const std::vector<double> speeds = job_.members.SpeedsOf(candidates);
  const auto at = std::find(candidates.begin(), candidates.end(), id) - candidates.begin();
  const StepWorker known = plans_.Predict(id, speeds[static_cast<size_t>(at)]);
  watches_[id].seconds = known.seconds_per_partition;
  std::vector<StepCommand> commands;
  if (empty_handed) {
    policy_->JoinEmptyHanded(id, known, job_.deadlines.TransferSeconds(1),
                             ToSeconds(job_.now - opened_), commands);
  } else {
    policy_->Join(id, known, ToSeconds(job_.now - opened_), commands);
  }
  return CarryOut(commands);
}

bool LeaseWork::CarryOut(std::vector<StepCommand>& commands) {
  bool enough = false;
  for (StepCommand& command : commands) {
    if (auto* extend = std::get_if<ExtendList>(&command)) {
      Extend(*extend);
    } else if (auto* revoke = std::get_if<RevokeList>(&command)) {
      watches_[revoke->worker].asks.push_back({job_.now, false});
      silence_due_ = std::min(silence_due_, Due(revoke->worker));
      job_.Do(RevokeLease{revoke->worker, update_.id, std::move(revoke->partitions)});
    } else if (const auto* send = std::get_if<SendVector>(&command)) {
      watches_[send->worker].told = job_.now;
      silence_due_ = std::min(silence_due_, Due(send->worker));
      job_.Do(SendLease{send->worker, update_.id});
    } else {
      enough = true;
    }
  }
  return enough;
}

void LeaseWork::Extend(ExtendList& command) {
  const WorkerId id = command.worker;
  Worker& worker = job_.members[id];
  LeaseWatch& watch = watches_[id];
  std::vector<PartitionId> missing;
  for (const PartitionId p : command.partitions) {
    if (job_.Lacks(id, p)) missing.push_back(p);
    if (leased_[p]) ++job_.totals.rows_reassigned;
    leased_[p] = true;
  }
  watch.placed += static_cast<uint32_t>(missing.size());
  if (!missing.empty()) Place(id, std::move(missing), Transfers::Why::kNeeded);
  if (watch.since == Time{}) watch.since = job_.now;
  if (policy_->Uncomputed(id) == command.partitions.size()) watch.moved = job_.now;
  watch.told = Time{};
  if (worker.free) worker.waiting_since = job_.now;
  worker.free = false;
  worker.assigned_in = update_.id;
  SetPatience(id);
  job_.Do(ExtendLease{id, update_.id, std::move(command.partitions)});
}

void LeaseWork::Place(WorkerId worker, std::vector<PartitionId> partitions, Transfers::Why why) {
  plans_.AddCopies(worker, partitions);
  job_.SendData(worker, update_.id, std::move(partitions), why);
}

// --- Learning from messages ---

void LeaseWork::SawProgress(const LeaseProgress& event) {
  LeaseWatch& watch = watches_[event.worker];
  if (event.done <= watch.done) return;
  LearnFromProgress(event, opened_, job_, watch);
  if (watch.asks.empty() && LatencyIsDue(job_, event.worker)) Ping(event.worker);
}

bool LeaseWork::SawReleased(WorkerId worker) {
  auto& asks = watches_[worker].asks;
  LeaseHabits& habits = job_.habits[worker];
  const LeaseWatch::Ask ask = asks.front();
  asks.pop_front();
  if (habits.round_trips > 0) answers_.AddArrival(job_.now - ask.at, 2 * habits.latency, 0);
  habits.SawRoundTrip(ToSeconds(job_.now - ask.at), update_.id,
                      job_.transfers.InTheWayOf(worker, ask.at));
  habits.fenced = 0;
  return !ask.ping;
}

void LeaseWork::SawVector(WorkerId worker) {
  const LeaseWatch& watch = watches_[worker];
  LeaseHabits& habits = job_.habits[worker];
  if (watch.told != Time{} && policy_->Uncomputed(worker) == 0) {
    // The vector's time begins when the worker had computed all and knew that it was to send. The
    // server learns both with a delay.
    const double asked = ToSeconds(watch.told - opened_) + 2 * habits.latency;
    habits.SawVector(
        ToSeconds(job_.now - opened_) - std::max(asked, ToSeconds(watch.moved - opened_)),
        job_.transfers.InTheWayOf(worker, watch.told));
  }
  habits.SawVectorCome();
  last_.slice = job_.now;
}

// --- When messages are due ---

void LeaseWork::SetPatience(WorkerId id) {
  const LeaseWatch& watch = watches_[id];
  const LeaseHabits& habits = job_.habits[id];
  double expected = 2 * habits.latency;
  if (const size_t left = policy_->Uncomputed(id); left > 0) {
    expected += std::min(habits.chunk, static_cast<double>(left)) * watch.seconds;
    if (watch.done == 0) expected += habits.overhead;
  } else {
    expected += habits.message;
  }
  Worker& worker = job_.members[id];
  worker.patience = job_.deadlines.Limit(expected, DataInFront(job_, watch, id));
  if (policy_->Owes(id) == 0) return;
  silence_due_ = std::min(silence_due_, Due(id));
  answers_due_ = std::max(answers_due_, worker.waiting_since + worker.patience);
}

void LeaseWork::Ping(WorkerId id) {
  watches_[id].asks.push_back({job_.now, true});
  silence_due_ = std::min(silence_due_, Due(id));
  job_.Do(RevokeLease{id, update_.id, {}});
}

Time LeaseWork::TickDue() const {
  const double tick = policy_->NextTick();
  if (tick == std::numeric_limits<double>::infinity()) return kNever;
  return opened_ + FromSeconds(tick) + (last_.event - last_.message) / kQuietTicks;
}

Duration LeaseWork::SendingOwed(WorkerId worker) const {
  if (plans_.plan().copies > 1 && !job_.transfers.wants_copies()) return {};
  return FromSeconds(job_.deadlines.TransferSeconds(policy_->Owes(worker)));
}

Time LeaseWork::Due(WorkerId id) const {
  const LeaseWatch& watch = watches_[id];
  if (!watch.takes_part || watch.helpless) return kNever;
  return std::min(MessageDue(id), DeliveryDue(id));
}

Time LeaseWork::MessageDue(WorkerId id) const {
  const LeaseWatch& watch = watches_[id];
  const Worker& worker = job_.members[id];
  const Time reported = worker.waiting_since + worker.patience;
  if (watch.asks.empty()) return policy_->Owes(id) > 0 ? reported : kNever;
  const LeaseHabits& habits = job_.habits[id];
  const double round_trip = habits.round_trips > 0 ? 2 * habits.latency : 0;
  const uint32_t data = DataInFront(job_, watch, id);
  const Duration limit =
      answers_.Limit(round_trip, data) * (1 << std::min(habits.fenced, kMostBackoff));
  const Time due = std::max(worker.waiting_since, watch.asks.front().at) + limit + SendingOwed(id);
  return data > 0 ? std::max(due, reported) : due;
}

// When the vector of a finished list should have come after it was asked for, whatever other
// messages its worker sends. As long as slices of any vector come, the link may be what all wait
// for.
Time LeaseWork::DeliveryDue(WorkerId id) const {
  const LeaseWatch& watch = watches_[id];
  if (watch.told == Time{} || policy_->Owes(id) == 0 || policy_->Uncomputed(id) > 0) return kNever;
  const LeaseHabits& habits = job_.habits[id];
  const Duration limit = job_.deadlines.Limit(2 * habits.latency + habits.message, 0);
  return std::max({watch.told, watch.moved, last_.slice}) + kUndelivered * limit + SendingOwed(id);
}

}  // namespace motley
