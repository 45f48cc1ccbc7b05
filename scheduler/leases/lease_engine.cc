// SPDX-License-Identifier: Apache-2.0
#include "scheduler/leases/lease_engine.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace motley {
namespace {

// A worker that lives but makes no progress is given up after this many times the time that others
// need to compute the partitions it owes. Waiting longer costs more than it can save.
constexpr double kStuck = 2;
// The rest of a step is worth sending data to a newcomer if it takes at least this long.
constexpr double kLongSeconds = 1;

// True if another worker that takes part is not silent.
bool OthersAreAwake(const JobState& job, const LeaseWork& work, WorkerId id) {
  for (WorkerId other = 0; other < work.size(); ++other) {
    if (other == id || !work.TakesPart(other) || work[other].helpless) continue;
    if (job.now < work.Due(other)) return true;
  }
  return false;
}

// True if a worker that does not take part may still do so in this step.
bool MayComeBack(const JobState& job, const UpdateState& update, const LeaseWork& work,
                 WorkerId id) {
  const Worker& worker = job.members[id];
  return worker.live && worker.ready && !worker.free && !worker.left_out && !work.TakesPart(id) &&
         !work[id].fenced && !update.refusals.Has(id) && !worker.Overdue(job.now);
}

// True if the worker's answer was refused in this step and it has nothing to do.
bool IsRefused(const JobState& job, const UpdateState& update, const LeaseWork& work, WorkerId id) {
  const Worker& worker = job.members[id];
  return worker.live && worker.ready && worker.free && !work.TakesPart(id) &&
         update.refusals.Has(id);
}

// True if only workers with refused answers may take part.
bool OnlyRefusedMayTakePart(const JobState& job, const UpdateState& update, const LeaseWork& work) {
  for (WorkerId id = 0; id < work.size(); ++id) {
    if (work.TakesPart(id) ? !update.refusals.Has(id) : MayComeBack(job, update, work, id))
      return false;
  }
  return true;
}

// When the worker last made progress, or data came that a step needs. Copies come to workers whose
// devices hang, too.
Time MovedLast(const JobState& job, const LeaseWork& work, WorkerId id) {
  return std::max(work[id].moved, job.transfers.NeededCame(id));
}

// The worker that owes partitions and has made no progress for longest. None unless some worker is
// idle, and waiting costs more than any worker that owes partitions can save. A worker that was
// refused in this step counts as idle, because it is better than nobody.
std::optional<WorkerId> LongestStuck(const JobState& job, const UpdateState& update,
                                     const LeaseWork& work) {
  double rate = 0;
  bool idle = false;
  for (WorkerId id = 0; id < work.size(); ++id) {
    if (!work.TakesPart(id) && !IsRefused(job, update, work, id)) continue;
    if (work[id].seconds > 0) rate += 1 / work[id].seconds;
    idle = idle || work.policy().Owes(id) == 0;
  }
  std::optional<WorkerId> longest;
  for (WorkerId id = 0; idle && id < work.size(); ++id) {
    const auto owes = static_cast<double>(work.policy().Owes(id));
    if (!work.TakesPart(id) || owes == 0) continue;
    const double others = rate - (work[id].seconds > 0 ? 1 / work[id].seconds : 0);
    if (work.policy().Uncomputed(id) == 0 || others <= 0) return {};
    const Time moved = MovedLast(job, work, id);
    const Time due = moved + job.members[id].patience + work.SendingOwed(id) +
                     FromSeconds(kStuck * owes / others);
    if (job.now < due) return {};
    if (!longest || moved < MovedLast(job, work, *longest)) longest = id;
  }
  return longest;
}

// True for a newcomer without data if the rest of the step is long enough to send it some.
bool ComesEmptyHandedIntoALongStep(const JobState& job, const LeaseWork& work, WorkerId id) {
  const std::vector<bool>& holds = job.members[id].holds;
  if (std::find(holds.begin(), holds.end(), true) != holds.end()) return false;
  double left = 0, rate = 0;
  for (WorkerId w = 0; w < work.size(); ++w) {
    if (w == id || !work.TakesPart(w) || work[w].seconds <= 0) continue;
    left += static_cast<double>(work.policy().Uncomputed(w));
    rate += 1 / work[w].seconds;
  }
  return left > kLongSeconds * rate;
}

// The worker that would have a stranded partition done first, after the partitions that it owes and
// the `more` partitions that are sent to it too.
std::optional<WorkerId> TakerOf(const JobState& job, const LeaseWork& work, PartitionId stranded,
                                const std::vector<size_t>& more) {
  std::optional<WorkerId> best;
  double first = std::numeric_limits<double>::infinity();
  for (WorkerId w = 0; w < work.size(); ++w) {
    if (!work.TakesPart(w) || work[w].helpless) continue;
    if (job.members[w].holds[stranded]) return w;
    const double seconds = work[w].seconds;
    const double busy = static_cast<double>(work.policy().Owes(w) + more[w]) * seconds;
    const double there =
        ToSeconds(job.transfers.Left(w, job.now)) + job.deadlines.TransferSeconds(more[w] + 1);
    const double done = std::max(busy, there) + seconds;
    if (done < first) best = w, first = done;
  }
  return best;
}

// True if its data may still be on their way: within the limit learned from other transfers, or
// within a growing limit until one transfer is known.
bool MayWaitForData(JobState& job, LeaseWork& work, WorkerId id) {
  if (DataInFront(job, work[id], id) == 0) return false;
  Worker& worker = job.members[id];
  const Duration before = worker.patience;
  work.SetPatience(id);
  if (!job.deadlines.KnowsTransfers()) worker.patience = std::max(worker.patience, 2 * before);
  return job.now < work.Due(id);
}

// What came may be leased to the worker in the same step.
void TakeCopies(const DataCame& event, const UpdateState& update, const LeaseWork& work) {
  if (!update.open()) return;
  for (const PartitionId p : event.partitions) work.policy().AddCopy(p, event.worker);
}

// The worker did not deliver its leases and holds the step up since `since`.
void CountMissed(JobState& job, WorkerId id, Time since) {
  LeaseHabits& habits = job.habits[id];
  habits.Missed(job.now - since, job.now);
  if (Rests(job, id)) job.Say(notice::Rests{id, habits.rests_until - job.now});
}

}  // namespace

LeaseEngine::LeaseEngine(JobState& job, UpdateState& update)
    : job_(job), update_(update), plans_(job), work_(job, update, plans_) {}

void LeaseEngine::Report(SchedulerStats& stats) const {
  const LeasePlan& plan = plans_.plan();
  stats.tolerates = plan.copies > 0 ? plan.copies - 1 : 0;
  uint64_t samples = 0;
  for (const WorkerStats& worker : stats.workers) samples += worker.samples;
  for (WorkerId id = 0; id < stats.workers.size(); ++id) {
    WorkerStats& worker = stats.workers[id];
    // Leases move in a step, so the plan shows little about who did the work.
    if (samples > 0) {
      worker.share = static_cast<double>(worker.samples) / static_cast<double>(samples);
    } else if (id < plan.primary.size()) {
      worker.share = static_cast<double>(plan.primary[id]) / job_.options.partitions;
    }
  }
}

// --- The beginning and the end of a step ---

StepResult LeaseEngine::Open() {
  some_helpless_ = false;
  work_.Open();
  GiveWorkToFree();
  PlaceStranded();
  SendCopies();
  return TakeResult();
}

void LeaseEngine::SendCopies() {
  if (!job_.transfers.wants_copies() || !update_.open()) return;
  auto sent = plans_.CopiesToSend([this](WorkerId id) { return work_.TakesPart(id); });
  for (WorkerId w = 0; w < sent.size(); ++w) {
    if (!sent[w].empty()) work_.Place(w, std::move(sent[w]), Transfers::Why::kCopies);
  }
}

// Everything is covered, so no worker that takes part has anything left to do.
void LeaseEngine::Close() {
  job_.Do(CommitStep{update_.id});
  update_.phase = UpdateState::Phase::kEnough;
  result_.kind = StepResult::Kind::kClosed;
  for (WorkerId id = 0; id < work_.size(); ++id) {
    Worker& worker = job_.members[id];
    if (!worker.live || !worker.ready) continue;
    if (!work_.TakesPart(id)) {
      if (!worker.heard) ++worker.silent_steps;
      if (!work_[id].fenced && !worker.free) ++worker.stats.late;
      continue;
    }
    MeasureSpeed(id, work_.policy().Owes(id) > 0, job_, work_[id]);
    if (work_[id].since != Time{}) ++worker.stats.steps_in_time;
    worker.free = true;
  }
}

void LeaseEngine::Cancel() {
  for (WorkerId id = 0; id < work_.size(); ++id) {
    if (!work_.TakesPart(id)) continue;
    const bool owes = work_.policy().Owes(id) > 0;
    MeasureSpeed(id, owes, job_, work_[id]);
    if (owes) job_.Do(CancelWork{id, update_.id});
    job_.members[id].free = true;
  }
}

void LeaseEngine::Tell(const StepEvent& event) {
  if (work_.Tell(event)) Close();
}

// --- Messages of workers ---

StepResult LeaseEngine::OnEvent(const Event& event) {
  if (const auto* came = std::get_if<DataCame>(&event)) {
    TakeCopies(*came, update_, work_);
    // Copies alone are no sign of work.
    if (job_.transfers.NeededCame(came->worker) != job_.now) return TakeResult();
  }
  std::visit(
      [this](const auto& e) {
        if constexpr (requires { On(e); }) {
          On(e);
        } else if constexpr (requires { e.worker; }) {
          Spoke(e.worker);
        }
      },
      event);
  return TakeResult();
}

void LeaseEngine::On(const WorkerFree& event) {
  if (update_.open() && job_.members[event.worker].free) GiveWork(event.worker);
}

void LeaseEngine::On(const LeaseProgress& event) {
  if (work_.InStep(event.worker, event.step)) {
    work_.SawProgress(event);
    Tell(ListProgress{event.worker, event.done, ToSeconds(event.compute)});
  }
  Spoke(event.worker);
}

void LeaseEngine::On(const LeaseReleased& event) {
  if (work_.InStep(event.worker, event.step) && !work_[event.worker].asks.empty() &&
      work_.SawReleased(event.worker)) {
    Tell(ListReleased{event.worker, event.partitions});
  }
  Spoke(event.worker);
}

void LeaseEngine::On(const LeaseSlice& event) {
  if (work_.InStep(event.worker, event.step)) work_.SawSlice();
  Spoke(event.worker);
}

void LeaseEngine::On(const LeaseVector& event) {
  if (work_.InStep(event.worker, event.step)) {
    work_.SawVector(event.worker);
    Tell(VectorArrived{event.worker, event.entries});
    if (update_.open()) {
      job_.members[event.worker].free = work_.policy().Owes(event.worker) == 0;
    }
  }
  Spoke(event.worker);
}

void LeaseEngine::Spoke(WorkerId id) {
  work_.SawMessage();
  JudgeAnew();
  job_.TakeBack(id);
  if (!work_.TakesPart(id)) job_.members[id].free = job_.members[id].ready;
  if (update_.open()) GiveWork(id);
}

RefusalKind LeaseEngine::Refused(const RowRejected& event) {
  if (!work_.InStep(event.worker, event.step)) return RefusalKind::kEarlier;
  Evict(event.worker, /*silent=*/false);
  return RefusalKind::kInStep;
}

// --- Participation ---

void LeaseEngine::GiveWork(WorkerId id) {
  work_.MakeRoomFor(id);
  if (work_.TakesPart(id)) {
    job_.members[id].free = work_.policy().Owes(id) == 0;
    return work_.SetPatience(id);
  }
  if (!job_.members[id].ready) return;
  if (update_.refusals.Has(id) && !update_.refusals.OnlyTheyAreLeft(job_.members, job_.now) &&
      !OnlyRefusedMayTakePart(job_, update_, work_)) {
    return;
  }
  if ((work_[id].fenced || Rests(job_, id)) && OthersAreAwake(job_, work_, id)) return;
  work_.Edit(id) = LeaseWatch{};
  work_.Edit(id).takes_part = true;
  JudgeAnew();
  if (work_.Join(id, ComesEmptyHandedIntoALongStep(job_, work_, id))) Close();
  PlaceStranded();
}

void LeaseEngine::GiveWorkToFree() {
  for (WorkerId id = 0; id < work_.size() && update_.open(); ++id) {
    const Worker& worker = job_.members[id];
    if (worker.live && worker.free && !work_.TakesPart(id)) GiveWork(id);
  }
}

void LeaseEngine::Gone(WorkerId id) {
  plans_.DropCopies(id);
  if (id >= work_.size()) return;
  const bool took_part = work_.TakesPart(id);
  const bool owes = took_part && work_.policy().Owes(id) > 0;
  // An incarnation that did work is not part of a storm of joins.
  if (owes && !job_.habits[id].delivered) CountMissed(job_, id, work_[id].since);
  job_.habits[id].delivered = false;
  work_.Edit(id) = LeaseWatch{};
  if (!update_.open()) return;
  work_.policy().DropCopies(id);
  if (!took_part) return;
  if (owes) ++job_.members[id].stats.late;
  Tell(StepWorkerLost{id});
}

StepResult LeaseEngine::Replace() {
  GiveWorkToFree();
  PlaceStranded();
  return TakeResult();
}

// --- Time ---

Time LeaseEngine::Due() const {
  Time due = std::min(work_.TickDue(), work_.silence_due());
  if (work_.policy().orphans().empty()) return due;
  for (WorkerId id = 0; id < work_.size(); ++id) {
    const Worker& worker = job_.members[id];
    if (MayComeBack(job_, update_, work_, id))
      due = std::min(due, worker.waiting_since + worker.patience);
  }
  return due;
}

void LeaseEngine::On(const Tick&) {
  const bool ticks = job_.now >= work_.TickDue();
  if (ticks) Tell(StepTick{});
  if (update_.open() && job_.now >= work_.silence_due()) JudgeSilence();
  if (!update_.open()) return;
  if (const auto stuck = ticks ? LongestStuck(job_, update_, work_) : std::nullopt) {
    CountMissed(job_, *stuck, work_[*stuck].moved);
    Evict(*stuck, !work_[*stuck].asks.empty());
    for (WorkerId id = 0; id < work_.size() && update_.open(); ++id) {
      if (IsRefused(job_, update_, work_, id)) GiveWork(id);
    }
  }
  PlaceStranded();
}

void LeaseEngine::JudgeSilence() {
  for (WorkerId id = 0; id < work_.size(); ++id) {
    if (job_.now < work_.Due(id)) continue;
    if (job_.now >= work_.DeliveryDue(id)) {
      DoWithout(id, std::max(work_[id].told, work_[id].moved), /*silent=*/false);
    } else if (MayWaitForData(job_, work_, id)) {
      continue;
    } else if (work_[id].asks.empty()) {
      work_.Ping(id);
    } else {
      DoWithout(id, job_.members[id].waiting_since, /*silent=*/true);
    }
  }
  Time due = kNever;
  for (WorkerId id = 0; id < work_.size(); ++id) due = std::min(due, work_.Due(id));
  work_.SetSilenceDue(due);
}

// Resting workers count, too.
bool LeaseEngine::OthersCanDoItsPart(WorkerId id) {
  if (OthersAreAwake(job_, work_, id)) return true;
  GiveWorkToFree();
  PlaceStranded();
  return OthersAreAwake(job_, work_, id);
}

// The worker has held the step up since `since`, by its silence or by a vector that does not come.
// Others compute the partitions that it owes, if there are any others.
void LeaseEngine::DoWithout(WorkerId id, Time since, bool silent) {
  if (!OthersCanDoItsPart(id)) {
    work_.Edit(id).helpless = some_helpless_ = true;
    return;
  }
  CountMissed(job_, id, since);
  Evict(id, silent);
}

// A worker is there that can replace the silent ones.
void LeaseEngine::JudgeAnew() {
  if (!some_helpless_) return;
  for (WorkerId id = 0; id < work_.size(); ++id) work_.Edit(id).helpless = false;
  some_helpless_ = false;
  work_.SetSilenceDue(job_.now);
}

// Moves the worker's leases to others. Later messages of these leases do not count.
void LeaseEngine::Evict(WorkerId id, bool silent) {
  LeaseWatch& watch = work_.Edit(id);
  MeasureSpeed(id, work_.policy().Owes(id) > 0, job_, watch);
  Worker& worker = job_.members[id];
  if (silent) {
    ++job_.habits[id].fenced;
    worker.speed_bound = 0;  // Its silence shows nothing about its speed.
  }
  watch.takes_part = false;
  watch.fenced = true;
  watch.asks.clear();
  ++worker.stats.late;
  worker.free = !silent;
  job_.Do(CancelWork{id, update_.id});
  Tell(StepWorkerLost{id});
  PlaceStranded();
}

// --- Partitions without a holder ---

void LeaseEngine::PlaceStranded() {
  if (!update_.open() || work_.policy().orphans().empty()) return;
  bool any = false;
  std::vector<size_t> more(work_.size(), 0);
  std::vector<std::vector<PartitionId>> taken(work_.size());
  for (const PartitionId p : work_.policy().orphans()) {
    const auto& copies = plans_.copies()[p];
    if (std::any_of(copies.begin(), copies.end(),
                    [this](WorkerId w) { return MayComeBack(job_, update_, work_, w); })) {
      continue;
    }
    const auto taker = TakerOf(job_, work_, p, more);
    if (!taker) break;
    ++more[*taker];
    if (job_.Lacks(*taker, p)) taken[*taker].push_back(p);
    work_.policy().AddCopy(p, *taker);
    any = true;
  }
  for (WorkerId w = 0; w < taken.size(); ++w) {
    if (taken[w].empty()) continue;
    work_.Edit(w).placed += static_cast<uint32_t>(taken[w].size());
    work_.Place(w, std::move(taken[w]), Transfers::Why::kNeeded);
  }
  if (any) Tell(StepTick{});
}

}  // namespace motley
