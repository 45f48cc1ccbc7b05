// SPDX-License-Identifier: Apache-2.0
// How LeaseScheduler tells slow workers from silent ones, and goes on without the latter.
#include <algorithm>
#include <limits>
#include <utility>

#include "scheduler/lease_scheduler.h"

namespace motley {
namespace {

constexpr WorkerId kNobody = std::numeric_limits<WorkerId>::max();
// Ticks of a step in which nobody speaks become as rare as this part of the silence.
constexpr int kQuietTicks = 16;
// What one that lives but does not get on would have to save, in the time it takes others to
// compute what it owes: waiting longer than that costs more than it can.
constexpr double kStuck = 2;
constexpr int kUndelivered = 2;  // Limits of a word that a vector may take.
// What is left of a step is worth sending data to a newcomer for, if it takes at least so long.
constexpr double kLongSeconds = 1;
constexpr uint32_t kMostBackoff = 6;  // Of the limit for answers, doubled for everybody who comes
                                      // back after it.

}  // namespace

bool LeaseScheduler::TakesPart(WorkerId worker) const {
  return worker < watches_.size() && watches_[worker].takes_part;
}

// --- Silence ---

Duration LeaseScheduler::AnswerLimit(WorkerId worker) const {
  const LeaseHabits& habits = habits_[worker];
  const double round_trip = habits.round_trips > 0 ? 2 * habits.latency : 0;
  return answers_.Limit(round_trip, OnTheirWay(worker)) *
         (1 << std::min(habits.fenced, kMostBackoff));
}

// Whatever it is asked comes behind them.
uint32_t LeaseScheduler::OnTheirWay(WorkerId worker) const {
  return std::max(watches_[worker].placed, data_.OnTheirWay(worker));
}

// What sending what it owes to another takes, where nobody else has that.
Duration LeaseScheduler::SendingOwed(WorkerId worker) const {
  if (plan_.copies > 1 && !copies_wanted_) return {};
  return FromSeconds(deadlines_.TransferSeconds(open_->Owes(worker)));
}

Duration LeaseScheduler::SendingForAnother(WorkerId worker) const {
  if (plan_.copies > 1 || worker >= plan_.primary.size()) return {};
  return FromSeconds(deadlines_.TransferSeconds(plan_.primary[worker]));
}

// Its data may be on their way as long as others' were, or until somebody's have come.
bool LeaseScheduler::MayWaitForData(WorkerId id) {
  if (OnTheirWay(id) == 0) return false;
  Worker& worker = members_[id];
  const Duration before = worker.patience;
  SetPatience(id);
  if (!deadlines_.KnowsTransfers()) worker.patience = std::max(worker.patience, 2 * before);
  return now_ < Due(id);
}

// When it has to be looked at: for its silence, or for a vector that does not come.
Time LeaseScheduler::Due(WorkerId id) const {
  const LeaseWatch& watch = watches_[id];
  if (!watch.takes_part || watch.helpless) return kNever;
  return std::min(WordDue(id), DeliveryDue(id));
}

Time LeaseScheduler::WordDue(WorkerId id) const {
  const LeaseWatch& watch = watches_[id];
  const Worker& worker = members_[id];
  if (!watch.asks.empty()) {
    const Time since = std::max(worker.waiting_since, watch.asks.front().at);
    const Time due = since + AnswerLimit(id) + SendingOwed(id);
    return OnTheirWay(id) > 0 ? std::max(due, worker.waiting_since + worker.patience) : due;
  }
  return open_->Owes(id) > 0 ? worker.waiting_since + worker.patience : kNever;
}

// When a list that is done and was asked for should have come, whatever else its worker says. As
// long as anything of anybody's vector comes, the link may be what all wait for.
Time LeaseScheduler::DeliveryDue(WorkerId id) const {
  const LeaseWatch& watch = watches_[id];
  if (watch.told == Time{} || open_->Owes(id) == 0 || open_->Uncomputed(id) > 0) return kNever;
  const LeaseHabits& habits = habits_[id];
  const Duration limit = deadlines_.Limit(2 * habits.latency + habits.message, 0);
  return std::max({watch.told, watch.moved, last_slice_}) + kUndelivered * limit + SendingOwed(id);
}

bool LeaseScheduler::Rests(WorkerId id) const {
  return id < habits_.size() && now_ < habits_[id].rests_until;
}

bool LeaseScheduler::OthersAreAwake(WorkerId id) const {
  for (WorkerId other = 0; other < watches_.size(); ++other) {
    if (other == id || !TakesPart(other) || watches_[other].helpless) continue;
    if (now_ < Due(other)) return true;
  }
  return false;
}

// Be it those that rest.
bool LeaseScheduler::OthersCanDoItsPart(WorkerId id) {
  if (OthersAreAwake(id)) return true;
  ReplaceAbsent();
  return OthersAreAwake(id);
}

void LeaseScheduler::WhenSilent(WorkerId id) {
  if (watches_[id].asks.empty()) return Ping(id);
  if (OthersCanDoItsPart(id)) {
    CountMissed(id, members_[id].waiting_since);
    return Fence(id, true);
  }
  watches_[id].helpless = some_helpless_ = true;
}

// Others compute it.
void LeaseScheduler::WhenUndelivered(WorkerId id) {
  if (!OthersCanDoItsPart(id)) {
    watches_[id].helpless = some_helpless_ = true;
    return;
  }
  CountMissed(id, std::max(watches_[id].told, watches_[id].moved));
  Fence(id, false);
}

// It holds the step up since then.
void LeaseScheduler::CountMissed(WorkerId id, Time since) {
  LeaseHabits& habits = habits_[id];
  habits.Missed(now_ - since, now_);
  if (!Rests(id)) return;
  Say(notice::Rests{id, habits.rests_until - now_});
}

void LeaseScheduler::Ping(WorkerId id) {
  watches_[id].asks.push_back({now_, true});
  silence_due_ = std::min(silence_due_, Due(id));
  Do(RevokeLease{id, step_, {}});
}

// Its leases move on; what it still sends counts for nothing.
void LeaseScheduler::Fence(WorkerId id, bool silent) {
  Measure(id);
  if (silent) {
    ++habits_[id].fenced;
    members_[id].speed_bound = 0;  // Its silence says nothing about its speed.
  }
  LeaseWatch& watch = watches_[id];
  watch.takes_part = false;
  watch.fenced = true;
  watch.asks.clear();
  ++members_[id].stats.late;
  members_[id].free = !silent;
  Cancel(id);
  Tell(StepWorkerLost{id});
  PlaceStranded();
}

// --- Slowness ---

// Of those that owe partitions, the one that has not got on for longest, when nobody else has
// anything to do and none of them can be expected to save what it costs to wait; or kNobody.
// Whoever was refused in this step counts as one that has nothing to do: better than nobody.
WorkerId LeaseScheduler::LongestStuck() const {
  double rate = 0;
  bool idle = false;
  for (WorkerId id = 0; id < watches_.size(); ++id) {
    if (!TakesPart(id) && !IsRefused(id)) continue;
    if (SecondsOf(id) > 0) rate += 1 / SecondsOf(id);
    idle = idle || open_->Owes(id) == 0;
  }
  WorkerId longest = kNobody;
  for (WorkerId id = 0; idle && id < watches_.size(); ++id) {
    const auto owes = static_cast<double>(open_->Owes(id));
    if (!TakesPart(id) || owes == 0) continue;
    const double others = rate - (SecondsOf(id) > 0 ? 1 / SecondsOf(id) : 0);
    if (open_->Uncomputed(id) == 0 || others <= 0) return kNobody;
    const Time due = watches_[id].moved + members_[id].patience + SendingOwed(id) +
                     FromSeconds(kStuck * owes / others);
    if (now_ < due) return kNobody;
    if (longest == kNobody || watches_[id].moved < watches_[longest].moved) longest = id;
  }
  return longest;
}

// Its answer was, in this step, and it has nothing to do.
bool LeaseScheduler::IsRefused(WorkerId id) const {
  const Worker& worker = members_[id];
  return worker.live && worker.ready && worker.free && !TakesPart(id) && RejectedInStep(id);
}

// But those whose answers were refused.
bool LeaseScheduler::NobodyElseMayTakePart() const {
  for (WorkerId id = 0; id < watches_.size(); ++id) {
    if (TakesPart(id) ? !RejectedInStep(id) : MayComeBack(id)) return false;
  }
  return true;
}

void LeaseScheduler::GiveWorkToRefused() {
  for (WorkerId id = 0; id < watches_.size() && phase_ == Phase::kRunning; ++id) {
    if (IsRefused(id)) GiveWork(id);
  }
}

// --- Time ---

Time LeaseScheduler::TickDue() const {
  const double tick = open_->NextTick();
  if (tick == std::numeric_limits<double>::infinity()) return kNever;
  return opened_ + FromSeconds(tick) + (told_ - last_word_) / kQuietTicks;
}

Time LeaseScheduler::StepDue() const {
  Time due = std::min(TickDue(), silence_due_);
  if (open_->orphans().empty()) return due;
  for (WorkerId id = 0; id < watches_.size(); ++id) {
    if (MayComeBack(id)) due = std::min(due, members_[id].waiting_since + members_[id].patience);
  }
  return due;
}

void LeaseScheduler::TickInStep() {
  const bool ticks = now_ >= TickDue();
  if (ticks) Tell(StepTick{});
  if (now_ >= silence_due_) JudgeSilence();
  if (phase_ != Phase::kRunning) return;
  if (const WorkerId stuck = ticks ? LongestStuck() : kNobody; stuck != kNobody) {
    CountMissed(stuck, watches_[stuck].moved);
    Fence(stuck, !watches_[stuck].asks.empty());
    GiveWorkToRefused();
  }
  PlaceStranded();
}

void LeaseScheduler::JudgeSilence() {
  for (WorkerId id = 0; id < watches_.size(); ++id) {
    if (now_ < Due(id)) continue;
    if (now_ >= DeliveryDue(id)) {
      WhenUndelivered(id);
    } else if (!MayWaitForData(id)) {
      WhenSilent(id);
    }
  }
  silence_due_ = kNever;
  for (WorkerId id = 0; id < watches_.size(); ++id) {
    silence_due_ = std::min(silence_due_, Due(id));
  }
}

// --- Who comes ---

void LeaseScheduler::Spoke(WorkerId id) {
  last_word_ = now_;
  JudgeAnew();
  TakeBack(id);
  if (!TakesPart(id)) members_[id].free = members_[id].ready;
  if (phase_ == Phase::kRunning) GiveWork(id);
}

// Somebody is there: the silent ones can be done without.
void LeaseScheduler::JudgeAnew() {
  if (!some_helpless_) return;
  for (LeaseWatch& watch : watches_) watch.helpless = false;
  some_helpless_ = false;
  silence_due_ = now_;
}

void LeaseScheduler::GiveWork(WorkerId id) {
  if (id >= watches_.size()) {
    watches_.resize(members_.size());
    habits_.resize(members_.size());
  }
  if (TakesPart(id)) {
    members_[id].free = open_->Owes(id) == 0;
    return SetPatience(id);
  }
  if (!members_[id].ready) return;
  if (RejectedInStep(id) && !OnlyRejectedAreLeft() && !NobodyElseMayTakePart()) return;
  if ((watches_[id].fenced || Rests(id)) && OthersAreAwake(id)) return;
  watches_[id] = LeaseWatch{};
  watches_[id].takes_part = true;
  JudgeAnew();
  const std::vector<WorkerId> candidates = members_.Candidates();
  const std::vector<double> speeds = members_.SpeedsOf(candidates);
  const auto at = std::find(candidates.begin(), candidates.end(), id) - candidates.begin();
  const StepWorker known = Predict(id, speeds[static_cast<size_t>(at)]);
  std::vector<StepCommand> commands;
  told_ = now_;
  if (ComesEmptyHandedIntoALongStep(id)) {
    open_->JoinEmptyHanded(id, known, deadlines_.TransferSeconds(1), Elapsed(), commands);
  } else {
    open_->Join(id, known, Elapsed(), commands);
  }
  CarryOut(commands);
  PlaceStranded();
}

bool LeaseScheduler::ComesEmptyHandedIntoALongStep(WorkerId id) const {
  const std::vector<bool>& holds = members_[id].holds;
  if (std::find(holds.begin(), holds.end(), true) != holds.end()) return false;
  double left = 0, rate = 0;
  for (WorkerId w = 0; w < watches_.size(); ++w) {
    if (w == id || !TakesPart(w) || SecondsOf(w) <= 0) continue;
    left += static_cast<double>(open_->Uncomputed(w));
    rate += 1 / SecondsOf(w);
  }
  return left > kLongSeconds * rate;
}

void LeaseScheduler::VoidWork(WorkerId id) {
  for (auto& holders : copies_) std::erase(holders, id);
  copies_wanted_ = true;
  if (id >= watches_.size()) return;
  const bool took_part = TakesPart(id);
  const bool owes = took_part && open_->Owes(id) > 0;
  // An incarnation that did work is no part of a storm of joins.
  if (owes && !habits_[id].delivered) CountMissed(id, watches_[id].since);
  habits_[id].delivered = false;
  watches_[id] = LeaseWatch{};
  if (phase_ != Phase::kRunning) return;
  open_->DropCopies(id);
  if (!took_part) return;
  if (open_->Owes(id) > 0) ++members_[id].stats.late;
  Tell(StepWorkerLost{id});
}

void LeaseScheduler::ReplaceAbsent() {
  for (WorkerId id = 0; id < watches_.size() && phase_ == Phase::kRunning; ++id) {
    const Worker& worker = members_[id];
    if (worker.live && worker.free && !TakesPart(id)) GiveWork(id);
  }
  PlaceStranded();
}

// --- What nobody holds ---

// Whether one that does not take part can still be expected to in this step.
bool LeaseScheduler::MayComeBack(WorkerId id) const {
  const Worker& worker = members_[id];
  return worker.live && worker.ready && !worker.free && !worker.left_out && !TakesPart(id) &&
         !watches_[id].fenced && !RejectedInStep(id) && !worker.Overdue(now_);
}

void LeaseScheduler::PlaceStranded() {
  if (phase_ != Phase::kRunning || open_->orphans().empty()) return;
  bool any = false;
  std::vector<size_t> more(watches_.size(), 0);
  std::vector<std::vector<PartitionId>> taken(watches_.size());
  for (const PartitionId p : open_->orphans()) {
    if (std::any_of(copies_[p].begin(), copies_[p].end(),
                    [this](WorkerId w) { return MayComeBack(w); })) {
      continue;
    }
    const WorkerId taker = TakerOf(p, more);
    if (taker == kNobody) break;
    ++more[taker];
    if (!members_[taker].holds[p]) taken[taker].push_back(p);
    open_->AddCopy(p, taker);
    any = true;
  }
  for (WorkerId w = 0; w < taken.size(); ++w) {
    if (taken[w].empty()) continue;
    watches_[w].placed += static_cast<uint32_t>(taken[w].size());
    Place(w, std::move(taken[w]), DataWatch::Why::kNeeded);
  }
  if (any) Tell(StepTick{});
}

// Who would have it done first, besides what it owes and so many more, which are sent to it too.
WorkerId LeaseScheduler::TakerOf(PartitionId stranded, const std::vector<size_t>& more) const {
  WorkerId best = kNobody;
  double first = std::numeric_limits<double>::infinity();
  for (WorkerId w = 0; w < watches_.size(); ++w) {
    if (!TakesPart(w) || watches_[w].helpless) continue;
    if (members_[w].holds[stranded]) return w;  // Since this step.
    const double busy = static_cast<double>(open_->Owes(w) + more[w]) * SecondsOf(w);
    const double there = ToSeconds(data_.Left(w, now_)) + deadlines_.TransferSeconds(more[w] + 1);
    const double done = std::max(busy, there) + SecondsOf(w);
    if (done < first) best = w, first = done;
  }
  return best;
}

}  // namespace motley
