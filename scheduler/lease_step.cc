// SPDX-License-Identifier: Apache-2.0
// How LeaseScheduler works off one step.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "scheduler/lease_scheduler.h"

namespace motley {
namespace {

// Copies that no lease waits for pass the links in the time of so many steps, in each step,
constexpr double kCopiesSteps = 2;
// and are so many of each worker while nothing is known of what they take.
constexpr double kCopiesPerStep = 4;
// Without progress for this many times what one report takes, a speed is proven wrong.
constexpr double kSlow = 1.25;
constexpr StepId kLatencySteps = 32;  // After so many, a latency is measured again.
constexpr double kFaster = 1.3;       // So many times faster than was thought is no noise.
constexpr double kNoBound = std::numeric_limits<double>::infinity();
// Of a predicted step, what a partition is to take of one that is tried.
constexpr double kTry = 0.4;

}  // namespace

// --- The beginning and the end ---

void LeaseScheduler::OpenStepNow() {
  habits_.resize(members_.size());
  watches_.assign(members_.size(), LeaseWatch{});
  opened_ = told_ = last_word_ = last_slice_ = now_;
  leased_.assign(options_.partitions, false);
  some_helpless_ = false;
  silence_due_ = kNever;
  answers_due_ = now_;
  Do(OpenLeases{step_});
  const std::vector<WorkerId> candidates = members_.Candidates();
  const auto may = [this](WorkerId id) { return members_[id].free && !RejectedInStep(id); };
  const bool all_rest = std::none_of(candidates.begin(), candidates.end(),
                                     [&](WorkerId id) { return may(id) && !Rests(id); });
  for (const WorkerId id : candidates) {
    watches_[id].takes_part = may(id) && (all_rest || !Rests(id));
    watches_[id].data = data_.OnTheirWay(id);
  }
  PlaceWithoutCopies();
  PutPrimariesFirst();
  open_ = std::make_unique<AdaptiveStep>(Setting());
  std::vector<StepCommand> commands;
  open_->Begin(commands);
  CarryOut(commands);
  ReplaceAbsent();
  SendCopies();
}

void LeaseScheduler::PutPrimariesFirst() {
  for (PartitionId p = 0; p < copies_.size(); ++p) {
    auto& holders = copies_[p];
    const auto first = std::find(holders.begin(), holders.end(), plan_.placement.holders[p][0]);
    if (first != holders.end()) std::rotate(holders.begin(), first, first + 1);
  }
}

StepSetting LeaseScheduler::Setting() {
  StepSetting setting;
  if (open_ != nullptr) setting = open_->TakeSetting();  // Most of it is the same again.
  setting.least_pace_seconds = kLeastPaceSeconds;
  StepWorker nobody;
  nobody.live = false;
  setting.workers.assign(members_.size(), nobody);
  const std::vector<WorkerId> candidates = members_.Candidates();
  const std::vector<double> speeds = members_.SpeedsOf(candidates);
  for (size_t i = 0; i < candidates.size(); ++i) {
    setting.workers[candidates[i]] = Predict(candidates[i], speeds[i]);
    setting.workers[candidates[i]].live = watches_[candidates[i]].takes_part;
  }
  setting.holders = copies_;
  return setting;
}

StepWorker LeaseScheduler::Predict(WorkerId worker, double speed) {
  const LeaseHabits& habits = habits_[worker];
  StepWorker known;
  known.seconds_per_partition = options_.batch / (options_.partitions * speed);
  if (habits.tried) {
    known.seconds_per_partition = std::min(known.seconds_per_partition, kTry * EvenStepSeconds());
  }
  watches_[worker].seconds = known.seconds_per_partition;
  known.data_seconds = ToSeconds(data_.Left(worker, now_));  // Its parameters come behind them.
  known.overhead_seconds = habits.overhead;
  // One that is asked nothing for what was only guessed would never be measured: it is tried, too.
  const LeaseHabits unknown;
  const bool latency = !habits.tried || !habits.behind_data;
  const bool vector = !habits.tried || !habits.vector_behind_data;
  known.latency_seconds = (latency ? habits : unknown).latency;
  const double message_seconds = (vector ? habits : unknown).message;
  // What of a vector's time is the link's that all share cannot be told from the worker's own by
  // one vector, but by many.
  known.message_seconds = std::min(link_.message_seconds(), message_seconds);
  known.send_seconds = message_seconds - known.message_seconds;
  known.report_every = static_cast<uint32_t>(std::lround(habits.chunk));
  return known;
}

// What nobody holds goes to whom it is meant for, before anything is leased.
void LeaseScheduler::PlaceWithoutCopies() {
  std::vector<std::vector<PartitionId>> missing(members_.size());
  for (PartitionId p = 0; p < copies_.size(); ++p) {
    const WorkerId primary = plan_.placement.holders[p][0];
    if (copies_[p].empty() && TakesPart(primary)) missing[primary].push_back(p);
  }
  for (WorkerId w = 0; w < missing.size(); ++w) {
    watches_[w].placed = watches_[w].first = static_cast<uint32_t>(missing[w].size());
    if (!missing[w].empty()) Place(w, std::move(missing[w]), DataWatch::Why::kNeeded);
  }
}

// Predicted. Equal shares are planned as if everybody were as fast, and evened out by leases.
double LeaseScheduler::EvenStepSeconds() const {
  if (options_.shares != Shares::kEqual) return plan_.step_seconds;
  const std::vector<double> speeds = members_.SpeedsOf(members_.Candidates());
  return options_.batch / std::accumulate(speeds.begin(), speeds.end(), 0.0);
}

// Of each worker, on average. Fewer would hardly be in the way of steps, and late where it matters.
double LeaseScheduler::CopiesPerStep() const {
  const double each = deadlines_.TransferSeconds(1);
  return each > 0 ? kCopiesSteps * EvenStepSeconds() / each : kCopiesPerStep;
}

// How many may follow those that are on their way.
LeaseScheduler::CopiesRoom LeaseScheduler::RoomForCopies() const {
  CopiesRoom room;
  room.of.assign(members_.size(), 0);
  const double each = CopiesPerStep(), takes = deadlines_.TransferSeconds(1);
  bool none = true;
  for (const WorkerId id : members_.Candidates()) {
    const double left = ToSeconds(data_.Left(id, now_));
    const double on_their_way = takes > 0 ? left / takes : 0;
    room.all += each - on_their_way;
    room.of[id] = left > 0 ? each - on_their_way : std::max(1.0, each);
    none = none && left == 0;
  }
  if (none) room.all = std::max(1.0, room.all);
  return room;
}

// What the plan wants besides is of use from the next step on; whoever computes it first, first.
void LeaseScheduler::SendCopies() {
  if (!copies_wanted_ || phase_ != Phase::kRunning) return;
  copies_wanted_ = false;
  CopiesRoom room = RoomForCopies();
  std::vector<std::vector<PartitionId>> sent(members_.size());
  const auto send = [&](PartitionId p, WorkerId w) {
    if (members_.Live(w) && members_[w].holds[p]) return;
    copies_wanted_ = true;
    if (!TakesPart(w) || room.all < 1 || room.of[w] < 1) return;
    sent[w].push_back(p);
    room.all -= 1;
    room.of[w] -= 1;
  };
  const auto& placement = plan_.placement.holders;
  for (PartitionId p = 0; p < copies_.size(); ++p) send(p, placement[p].front());
  for (PartitionId p = 0; p < copies_.size(); ++p) {
    for (size_t i = 1; i < placement[p].size(); ++i) send(p, placement[p][i]);
  }
  const bool few = deadlines_.KnowsTransfers();
  for (WorkerId w = 0; w < sent.size(); ++w) {
    if (sent[w].empty()) continue;
    Place(w, std::move(sent[w]), few ? DataWatch::Why::kFew : DataWatch::Why::kCopies);
  }
}

void LeaseScheduler::Place(WorkerId worker, std::vector<PartitionId> partitions,
                           DataWatch::Why why) {
  for (const PartitionId p : partitions) copies_[p].push_back(worker);
  SendData(worker, std::move(partitions), why);
}

// Then what its messages took shows that, and neither its link nor its work.
bool LeaseScheduler::WaitedForData(WorkerId worker) const {
  return DataInTheWay() || watches_[worker].data;
}

// Also behind those that were sent in this step, after its leases.
bool LeaseScheduler::AsksWaitForData(WorkerId worker) const {
  return WaitedForData(worker) || OnTheirWay(worker) > 0;
}

// Measured long ago, or only behind data. Where it seems to be long, nobody would be asked
// anything.
bool LeaseScheduler::LatencyIsDue(WorkerId worker) const {
  const LeaseHabits& habits = habits_[worker];
  if (habits.round_trips == 0) return true;
  return !AsksWaitForData(worker) &&
         (habits.behind_data || step_ >= habits.round_trip_in + kLatencySteps);
}

void LeaseScheduler::CancelAll() {
  for (WorkerId id = 0; id < watches_.size(); ++id) {
    if (!watches_[id].takes_part) continue;
    Measure(id);
    if (open_->Owes(id) > 0) Cancel(id);
    members_[id].free = true;
  }
}

// Everything is covered: nobody who takes part has anything left to do.
void LeaseScheduler::CloseStep() {
  Commit();
  for (WorkerId id = 0; id < watches_.size(); ++id) {
    Worker& worker = members_[id];
    if (!worker.live || !worker.ready) continue;
    if (!watches_[id].takes_part) {
      if (!worker.heard) ++worker.silent_steps;
      if (!watches_[id].fenced && !worker.free) ++worker.stats.late;
      continue;
    }
    Measure(id);
    if (watches_[id].since != Time{}) ++worker.stats.steps_in_time;
    worker.free = true;
  }
}

// Its speed in this step.
void LeaseScheduler::Measure(WorkerId id) {
  const LeaseWatch& watch = watches_[id];
  LeaseHabits& habits = habits_[id];
  Worker& worker = members_[id];
  if (watch.since == Time{}) {
    habits.tried = ++habits.idle_steps >= habits.try_after;
    return;
  }
  habits.idle_steps = 0;
  const double per_partition = static_cast<double>(options_.batch) / options_.partitions;
  if (watch.done > 0) {
    const double samples = watch.done * per_partition;
    // As long as it turns out faster than was thought, it goes on.
    habits.tried = habits.tried && samples > kFaster * worker.speed() * ToSeconds(watch.compute);
    habits.try_after = LeaseHabits::kFirstTry;
    habits.SawChunk(watch.chunk);
    worker.speed_bound = 0;
    const auto whole = static_cast<uint64_t>(std::max(1LL, std::llround(samples)));
    worker.estimator.Add(whole, watch.compute);
    worker.stats.samples += whole;
    return;
  }
  if (std::exchange(habits.tried, false)) {
    habits.try_after = std::min(2 * habits.try_after, LeaseHabits::kLastTry);
  }
  const double seconds = ToSeconds(now_ - watch.since) - habits.overhead;
  if (open_->Owes(id) == 0 || OnTheirWay(id) > 0 ||
      seconds < kSlow * habits.chunk * SecondsOf(id)) {
    return;
  }
  // It has not finished one, and not for the first time: then it is far from it.
  const double again = worker.speed_bound > 0 ? worker.speed_bound / 2 : kNoBound;
  worker.speed_bound = std::min(again, per_partition / seconds);
}

// --- Within the step ---

bool LeaseScheduler::InStep(WorkerId worker, StepId step) const {
  return phase_ == Phase::kRunning && step == step_ && TakesPart(worker);
}

void LeaseScheduler::Tell(const StepEvent& event) {
  told_ = now_;
  std::vector<StepCommand> commands;
  open_->OnEvent(event, Elapsed(), commands);
  CarryOut(commands);
}

void LeaseScheduler::CarryOut(std::vector<StepCommand>& commands) {
  for (StepCommand& command : commands) {
    std::visit([this](auto& c) { Carry(c); }, command);
  }
}

void LeaseScheduler::Carry(ExtendList& command) {
  const WorkerId id = command.worker;
  Worker& worker = members_[id];
  LeaseWatch& watch = watches_[id];
  std::vector<PartitionId> missing;
  for (const PartitionId p : command.partitions) {
    if (!worker.holds[p]) missing.push_back(p);
    if (leased_[p]) ++totals_.rows_reassigned;
    leased_[p] = true;
  }
  watch.placed += static_cast<uint32_t>(missing.size());
  if (!missing.empty()) Place(id, std::move(missing), DataWatch::Why::kNeeded);
  if (watch.since == Time{}) watch.since = now_;
  if (open_->Uncomputed(id) == command.partitions.size()) watch.moved = now_;
  watch.told = Time{};
  if (worker.free) worker.waiting_since = now_;
  worker.free = false;
  worker.assigned_in = step_;
  SetPatience(id);
  Do(ExtendLease{id, step_, std::move(command.partitions)});
}

void LeaseScheduler::Carry(RevokeList& command) {
  watches_[command.worker].asks.push_back({now_, false});
  silence_due_ = std::min(silence_due_, Due(command.worker));
  Do(RevokeLease{command.worker, step_, std::move(command.partitions)});
}

void LeaseScheduler::Carry(SendVector& command) {
  watches_[command.worker].told = now_;
  silence_due_ = std::min(silence_due_, Due(command.worker));
  Do(SendLease{command.worker, step_});
}

void LeaseScheduler::Carry(StepEnough&) { CloseStep(); }

// How long after its last word the next one is due.
void LeaseScheduler::SetPatience(WorkerId id) {
  const LeaseWatch& watch = watches_[id];
  const LeaseHabits& habits = habits_[id];
  double expected = 2 * habits.latency;
  if (const size_t left = open_->Uncomputed(id); left > 0) {
    expected += std::min(habits.chunk, static_cast<double>(left)) * SecondsOf(id);
    if (watch.done == 0) expected += habits.overhead;
  } else {
    expected += habits.message;
  }
  Worker& worker = members_[id];
  worker.patience = deadlines_.Limit(expected, OnTheirWay(id));
  if (open_->Owes(id) == 0) return;
  silence_due_ = std::min(silence_due_, Due(id));
  answers_due_ = std::max(answers_due_, worker.waiting_since + worker.patience);
}

// --- Its events ---

void LeaseScheduler::On(const LeaseProgress& event) {
  if (!members_.Live(event.worker)) return;
  Hear(event.worker);
  if (InStep(event.worker, event.step)) {
    LeaseWatch& watch = watches_[event.worker];
    LeaseHabits& habits = habits_[event.worker];
    if (event.done > watch.done) {
      const uint32_t more = event.done - watch.done;
      const double elapsed = ToSeconds(now_ - watch.moved);
      double expected = 2 * habits.latency + more * SecondsOf(event.worker);
      if (watch.done == 0) expected += habits.overhead;
      const bool settled = members_[event.worker].estimator.settled();
      if (settled && watch.placed > 0) {
        deadlines_.AddBegun(now_ - watch.moved, expected, watch.placed);
      } else if (settled && !WaitedForData(event.worker)) {
        deadlines_.AddArrival(now_ - watch.moved, expected, 0);
      }
      if (watch.first > 0 && event.done >= watch.first) {
        const uint32_t all = std::exchange(watch.first, 0);
        deadlines_.AddArrival(now_ - opened_, ToSeconds(event.compute), all);
      }
      if (watch.done == 0 && !WaitedForData(event.worker) && watch.since == opened_) {
        habits.SawOverhead(elapsed - ToSeconds(event.compute) - habits.latency);
      }
      watch.chunk = std::max(watch.chunk, more);
      watch.done = event.done;
      watch.compute = event.compute;
      watch.moved = now_;
      watch.placed = 0;
      if (watch.asks.empty() && LatencyIsDue(event.worker)) Ping(event.worker);
    }
    Tell(ListProgress{event.worker, event.done, ToSeconds(event.compute)});
  }
  Spoke(event.worker);
}

void LeaseScheduler::On(const LeaseReleased& event) {
  if (!members_.Live(event.worker)) return;
  Hear(event.worker);
  if (InStep(event.worker, event.step) && !watches_[event.worker].asks.empty()) {
    auto& asks = watches_[event.worker].asks;
    LeaseHabits& habits = habits_[event.worker];
    const LeaseWatch::Ask ask = asks.front();
    asks.pop_front();
    if (habits.round_trips > 0) answers_.AddArrival(now_ - ask.at, 2 * habits.latency, 0);
    habits.SawRoundTrip(ToSeconds(now_ - ask.at), step_, AsksWaitForData(event.worker));
    habits.fenced = 0;
    if (!ask.ping) Tell(ListReleased{event.worker, event.partitions});
  }
  Spoke(event.worker);
}

void LeaseScheduler::On(const LeaseVector& event) {
  if (!members_.Live(event.worker)) return;
  Hear(event.worker);
  if (InStep(event.worker, event.step)) {
    const LeaseWatch& watch = watches_[event.worker];
    LeaseHabits& habits = habits_[event.worker];
    if (watch.told != Time{} && open_->Uncomputed(event.worker) == 0) {
      // From when it had computed all and knew that it was to send; both are known here later.
      const double told = ToSeconds(watch.told - opened_) + 2 * habits.latency;
      habits.SawVector(Elapsed() - std::max(told, ToSeconds(watch.moved - opened_)),
                       AsksWaitForData(event.worker));
    }
    habits.SawVectorCome();
    last_slice_ = now_;
    Tell(VectorArrived{event.worker, event.entries});
    if (phase_ == Phase::kRunning) {
      members_[event.worker].free = open_->Owes(event.worker) == 0;
    }
  }
  Spoke(event.worker);
}

void LeaseScheduler::On(const LeaseSlice& event) {
  if (!members_.Live(event.worker)) return;
  Hear(event.worker);
  if (InStep(event.worker, event.step)) last_slice_ = now_;
  Spoke(event.worker);
}

void LeaseScheduler::On(const RowLate& event) {
  if (!members_.Live(event.worker)) return;
  Hear(event.worker);
  Spoke(event.worker);
}

void LeaseScheduler::On(const RowRejected& event) {
  if (!members_.Live(event.worker)) return;
  Hear(event.worker);
  CountRefused(event.worker);
  if (!InStep(event.worker, event.step)) return Spoke(event.worker);
  Fence(event.worker, false);
  Refuse(event);
}

}  // namespace motley
