// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/adaptive_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();
// Decisions are at least this part of the ideal step apart. With more workers than kPacedWorkers,
// each matters less and a decision costs more, so the distance grows in proportion, up to
// kMostPace.
constexpr double kPace = 0.002;
constexpr double kPacedWorkers = 64;
constexpr double kMostPace = 0.04;
// Predictions err in proportion to how far they look ahead. A gain below this part of the rest of
// the step waits until it is urgent, or gone.
constexpr double kDoubt = 0.1;
// A time below this part of the predicted one shows that the speed was not known.
constexpr double kWrong = 0.1;

// When all would be done if work could be divided at will and every worker held everything.
double EvenedOf(const std::vector<BalanceWorker>& workers) {
  double rate = 0, work = 0;
  for (const BalanceWorker& worker : workers) {
    if (!worker.takes) continue;
    rate += 1 / worker.seconds;
    work += (worker.finish + worker.before) / worker.seconds;
  }
  return rate > 0 ? work / rate : 0;
}

// The gain that moves must have, however urgent, with `left` seconds of the step to come. If
// messages take as long as that, the problem has passed before they arrive, and each delays a
// vector.
double DoubtOfLatency(double latency, double left) {
  return latency > 0 ? latency * latency / std::max(left, latency) : 0;
}

}  // namespace

AdaptiveStep::AdaptiveStep(StepSetting setting)
    : view_(std::move(setting)),
      covered_(view_.setting.holders.size(), false),
      missing_(view_.setting.holders.size()) {
  double rate = 0;
  for (const StepWorker& known : view_.setting.workers) {
    if (known.live) rate += 1 / known.seconds_per_partition;
  }
  const double crowd = std::max(1.0, static_cast<double>(view_.workers.size()) / kPacedWorkers);
  pace_part_ = std::min(kPace * crowd, kMostPace);
  if (rate > 0) believed_pace_ = pace_part_ * static_cast<double>(missing_) / rate;
  pace_ = std::max(believed_pace_, view_.setting.least_pace_seconds);
}

// --- The beginning ---

void AdaptiveStep::Begin(std::vector<StepCommand>& out) {
  out_ = &out;
  ShareOut();
  next_tick_ = view_.now + pace_;
  out_ = nullptr;
}

// The shares of the primaries, evened out before any work begins.
void AdaptiveStep::ShareOut() {
  std::vector<BalanceWorker> plan(view_.workers.size());
  for (WorkerId w = 0; w < view_.workers.size(); ++w) {
    const StepWorker& known = view_.setting.workers[w];
    plan[w].seconds = known.seconds_per_partition;
    plan[w].finish =
        known.data_seconds + known.overhead_seconds + ReadySeconds(known, view_.start_link);
    plan[w].takes = known.live;
    plan[w].movable.reserve(2 * view_.setting.holders.size() / view_.workers.size());
  }
  for (PartitionId p = 0; p < view_.setting.holders.size(); ++p) {
    const auto& holders = view_.setting.holders[p];
    const auto first = std::find_if(holders.begin(), holders.end(),
                                    [&](WorkerId w) { return view_.workers[w].live; });
    if (first == holders.end()) {
      orphans_.push_back(p);
      continue;
    }
    plan[*first].movable.push_back(p);
    plan[*first].finish += plan[*first].seconds;
  }
  view_.SetSlots(plan);
  Balance(plan, view_.setting.holders);
  for (WorkerId w = 0; w < view_.workers.size(); ++w) {
    if (!plan[w].movable.empty()) Extend(w, std::move(plan[w].movable));
  }
}

// --- Events ---

void AdaptiveStep::OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) {
  view_.now = now;
  // A step that takes far longer than its work, because of links or lost workers, needs no more
  // decisions.
  pace_ = std::max(pace_, pace_part_ * view_.now);
  out_ = &out;
  std::visit([this](const auto& e) { On(e); }, event);
  if (missing_ == 0) {
    out.emplace_back(StepEnough{});
    next_tick_ = kNoTime;
  } else {
    GiveOrphans();
    if (view_.now >= decided_ + pace_) Decide();
    next_tick_ = leased_ > 0 && !OnlyAwaits() ? view_.now + pace_ : kNoTime;
  }
  out_ = nullptr;
}

void AdaptiveStep::On(const ListProgress& event) {
  if (!view_.workers[event.worker].live) return;
  Forecast& forecast = view_.workers[event.worker].forecast;
  forecast.Report(event.done, view_.now - view_.Latency(event.worker), event.compute_seconds);
  // If no speed was known, the whole step may be far shorter than predicted.
  const double believed = view_.setting.workers[event.worker].seconds_per_partition;
  if (forecast.done() == 0 || view_.now <= 0 || forecast.Expected() > kWrong * believed) return;
  const double pace = believed_pace_ * forecast.Expected() / believed;
  pace_ =
      std::min(pace_, std::max({pace, pace_part_ * view_.now, view_.setting.least_pace_seconds}));
}

void AdaptiveStep::On(const ListReleased& event) {
  LeasedWorker& worker = view_.workers[event.worker];
  if (!worker.live || worker.asks.empty()) return;
  const std::vector<PartitionId> asked = std::move(worker.asks.front());
  worker.asks.pop_front();
  std::map<WorkerId, std::vector<PartitionId>> given;
  for (const PartitionId p : asked) {
    const WorkerId to = std::exchange(view_.asked_for[p], LeaseView::kNobody);
    --view_.workers[to].incoming;
    --worker.asked;
    const auto at = std::find(worker.list.begin() + worker.spent, worker.list.end(), p);
    if (at == worker.list.end()) continue;  // A vector covers it by now.
    // The worker keeps the partitions that it had started.
    if (std::find(event.partitions.begin(), event.partitions.end(), p) == event.partitions.end()) {
      worker.begun = std::max(worker.begun, static_cast<uint32_t>(at - worker.list.begin()) + 1);
      continue;
    }
    worker.list.erase(at);
    --leased_;
    if (view_.workers[to].live) {
      given[to].push_back(p);
    } else {
      orphans_.push_back(p);
    }
  }
  for (auto& [to, partitions] : given) Extend(to, std::move(partitions));
}

void AdaptiveStep::On(const VectorArrived& event) {
  LeasedWorker& worker = view_.workers[event.worker];
  if (!worker.live) return;
  MOTLEY_ASSERT(worker.spent + event.entries <= worker.list.size());
  for (uint32_t i = 0; i < event.entries; ++i) {
    const PartitionId p = worker.list[worker.spent++];
    MOTLEY_ASSERT(!covered_[p]);
    covered_[p] = true;
    --missing_;
    --leased_;
  }
  worker.forecast.Report(worker.spent, view_.now - view_.Latency(event.worker));
}

void AdaptiveStep::On(const StepWorkerLost& event) {
  LeasedWorker& worker = view_.workers[event.worker];
  if (!worker.live) return;
  worker.live = false;
  // The worker gives nothing back any more, even if a vector covers it meanwhile.
  for (const std::vector<PartitionId>& asked : worker.asks) {
    for (const PartitionId p : asked) {
      --view_.workers[std::exchange(view_.asked_for[p], LeaseView::kNobody)].incoming;
    }
  }
  orphans_.insert(orphans_.end(), worker.list.begin() + worker.spent, worker.list.end());
  leased_ -= worker.list.size() - worker.spent;
  worker.list.resize(worker.spent);
  worker.asks.clear();
}

// --- Workers that join, and copies ---

void AdaptiveStep::Join(WorkerId w, const StepWorker& known, double now,
                        std::vector<StepCommand>& out) {
  if (w < view_.workers.size() && view_.workers[w].live) return;
  view_.now = now;
  view_.Join(w, known);
  OnEvent(StepTick{}, now, out);
}

void AdaptiveStep::JoinEmptyHanded(WorkerId w, StepWorker known, double sending_seconds, double now,
                                   std::vector<StepCommand>& out) {
  for (PartitionId p = 0; p < covered_.size(); ++p) {
    if (!covered_[p]) AddCopy(p, w);
  }
  known.seconds_per_partition += sending_seconds;
  decided_ = -kNoTime;
  Join(w, known, now, out);
  for (PartitionId p = 0; p < covered_.size(); ++p) {
    if (view_.asked_for[p] != w) std::erase(view_.setting.holders[p], w);
  }
}

void AdaptiveStep::AddCopy(PartitionId partition, WorkerId holder) {
  std::vector<WorkerId>& holders = view_.setting.holders[partition];
  if (std::find(holders.begin(), holders.end(), holder) == holders.end()) holders.push_back(holder);
}

void AdaptiveStep::DropCopies(WorkerId holder) {
  for (auto& holders : view_.setting.holders) std::erase(holders, holder);
}

// --- Decisions ---

// Each orphan goes to the holder that would have it done first.
void AdaptiveStep::GiveOrphans() {
  if (orphans_.empty()) return;
  view_.Look();
  std::vector<std::vector<PartitionId>> given(view_.workers.size());
  std::vector<PartitionId> left;
  for (const PartitionId p : orphans_) {
    WorkerId best = 0;
    double done = kNoTime;
    for (const WorkerId w : view_.setting.holders[p]) {
      if (!view_.workers[w].live) continue;
      const double late = view_.seen[w].finish + view_.seen[w].before + view_.seen[w].seconds;
      if (late < done) best = w, done = late;
    }
    if (done == kNoTime) {
      left.push_back(p);
      continue;
    }
    view_.seen[best].finish += view_.seen[best].seconds;
    given[best].push_back(p);
  }
  orphans_ = std::move(left);
  for (WorkerId w = 0; w < view_.workers.size(); ++w) {
    if (!given[w].empty()) Extend(w, std::move(given[w]));
  }
}

void AdaptiveStep::Decide() {
  decided_ = view_.now;
  view_.Look();
  const double as_it_is = view_.Last();
  view_.LeaveOutWhoWaitsBeyond(as_it_is);
  const auto worth = [&](double evened) {
    return as_it_is - evened > kDoubt * std::max(0.0, evened - view_.now) + pace_;
  };
  std::vector<BalanceMove> moves;
  if (view_.AnyNearlyDry(pace_) || worth(EvenedOf(view_.seen))) {
    view_.AddMovable();
    moves = Balance(view_.seen, view_.setting.holders);
    const double evened = view_.Last();
    const double doubt = DoubtOfLatency(view_.LatencyOf(moves), evened - view_.now);
    if (as_it_is - evened >= doubt) Ask(worth(evened) ? moves : view_.Urgent(moves, pace_));
  }
  TellWhoIsNearlyDone(moves);
}

// True if everything is computed and asked for, so that nothing is left to decide.
bool AdaptiveStep::OnlyAwaits() {
  if (!orphans_.empty()) return false;
  for (size_t looked = 0; looked < view_.workers.size(); ++looked) {
    const LeasedWorker& worker = view_.workers[at_work_];
    const bool done = !worker.live || worker.spent == worker.list.size();
    if (!done && !(worker.idle() && worker.told)) return false;
    at_work_ = at_work_ + 1 < view_.workers.size() ? at_work_ + 1 : 0;
  }
  return true;
}

void AdaptiveStep::Ask(const std::vector<BalanceMove>& moves) {
  if (moves.empty()) return;
  std::vector<std::vector<PartitionId>> asked(view_.workers.size());
  for (const BalanceMove& move : moves) {
    asked[move.from].push_back(move.partition);
    view_.asked_for[move.partition] = move.to;
    ++view_.workers[move.from].asked;
    ++view_.workers[move.to].incoming;
  }
  for (WorkerId w = 0; w < view_.workers.size(); ++w) {
    if (asked[w].empty()) continue;
    view_.workers[w].asks.push_back(asked[w]);
    out_->emplace_back(RevokeList{w, std::move(asked[w])});
  }
}

void AdaptiveStep::TellWhoIsNearlyDone(const std::vector<BalanceMove>& moves) {
  std::vector<bool> gets(view_.workers.size(), false), gives(view_.workers.size(), false);
  for (const BalanceMove& move : moves) gets[move.to] = gives[move.from] = true;
  for (WorkerId w = 0; w < view_.workers.size(); ++w) {
    LeasedWorker& worker = view_.workers[w];
    if (!worker.live || worker.told || gets[w] || worker.incoming > 0) continue;
    if (worker.spent == worker.list.size()) continue;
    // Nothing is meant for the worker, and mostly nothing was asked of it since.
    const double dry = gives[w] ? view_.DryAt(w, worker.Seconds(view_.now)) : view_.busy_until[w];
    if (dry > view_.now + view_.Latency(w) + 2 * pace_) continue;
    worker.told = true;
    out_->emplace_back(SendVector{w});
  }
}

void AdaptiveStep::Extend(WorkerId w, std::vector<PartitionId> partitions) {
  LeasedWorker& worker = view_.workers[w];
  if (worker.idle()) worker.forecast.Start(view_.now > 0 ? view_.now + view_.Latency(w) : 0);
  worker.told = false;
  leased_ += partitions.size();
  worker.list.insert(worker.list.end(), partitions.begin(), partitions.end());
  out_->emplace_back(ExtendList{w, std::move(partitions)});
}

}  // namespace motley
