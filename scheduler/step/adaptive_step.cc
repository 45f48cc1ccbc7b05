// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/adaptive_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();
constexpr WorkerId kNobody = std::numeric_limits<WorkerId>::max();
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

// `ready`: how long the worker waits for the parameters, including `data` before them.
Forecast ForecastOf(const StepWorker& known, double ready, double data) {
  Forecast forecast(known.seconds_per_partition, known.overhead_seconds + ready,
                    known.latency_seconds, known.report_every);
  forecast.SetData(data);
  return forecast;
}

}  // namespace

AdaptiveStep::AdaptiveStep(StepSetting setting)
    : setting_(std::move(setting)),
      covered_(setting_.holders.size(), false),
      asked_for_(setting_.holders.size(), kNobody),
      missing_(setting_.holders.size()) {
  double rate = 0;
  for (const StepWorker& known : setting_.workers) start_link_ += known.start_link_seconds;
  for (const StepWorker& known : setting_.workers) {
    workers_.emplace_back(ForecastOf(known, ReadySeconds(known, start_link_), known.data_seconds));
    workers_.back().live = known.live;
    if (known.live) rate += 1 / known.seconds_per_partition;
    link_matters_ = link_matters_ || known.message_seconds > 0;
    const auto w = static_cast<WorkerId>(workers_.size() - 1);
    if (known.live && Latency(w) > Latency(slowest_link_)) slowest_link_ = w;
  }
  const double crowd = std::max(1.0, static_cast<double>(workers_.size()) / kPacedWorkers);
  pace_part_ = std::min(kPace * crowd, kMostPace);
  if (rate > 0) believed_pace_ = pace_part_ * static_cast<double>(missing_) / rate;
  pace_ = std::max(believed_pace_, setting_.least_pace_seconds);
}

// --- The beginning ---

void AdaptiveStep::Begin(std::vector<StepCommand>& out) {
  out_ = &out;
  ShareOut();
  next_tick_ = now_ + pace_;
  out_ = nullptr;
}

// The shares of the primaries, evened out before any work begins.
void AdaptiveStep::ShareOut() {
  std::vector<BalanceWorker> plan(workers_.size());
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    const StepWorker& known = setting_.workers[w];
    plan[w].seconds = known.seconds_per_partition;
    plan[w].finish = known.data_seconds + known.overhead_seconds + ReadySeconds(known, start_link_);
    plan[w].takes = known.live;
    plan[w].movable.reserve(2 * setting_.holders.size() / workers_.size());
  }
  for (PartitionId p = 0; p < setting_.holders.size(); ++p) {
    const auto& holders = setting_.holders[p];
    const auto first =
        std::find_if(holders.begin(), holders.end(), [&](WorkerId w) { return workers_[w].live; });
    if (first == holders.end()) {
      orphans_.push_back(p);
      continue;
    }
    plan[*first].movable.push_back(p);
    plan[*first].finish += plan[*first].seconds;
  }
  SetSlots(plan);
  Balance(plan, setting_.holders);
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    if (!plan[w].movable.empty()) Extend(w, std::move(plan[w].movable));
  }
}

// Vectors that occupy the server's link come one after the other. The slowest workers, whose time
// is worth least, are to be done first.
void AdaptiveStep::SetSlots(std::vector<BalanceWorker>& workers) const {
  if (!link_matters_) {
    for (WorkerId w = 0; w < workers.size(); ++w) {
      workers[w].before = Latency(w) + setting_.workers[w].send_seconds;
    }
    return;
  }
  std::vector<std::pair<double, WorkerId>> order;
  order.reserve(workers.size());
  for (WorkerId w = 0; w < workers.size(); ++w) {
    if (workers_[w].live) order.emplace_back(workers[w].seconds, w);
  }
  std::sort(order.begin(), order.end());
  double link = 0;
  for (const auto& [seconds, w] : order) {
    link += setting_.workers[w].message_seconds;
    workers[w].before = link + Latency(w) + setting_.workers[w].send_seconds;
  }
}

// --- Events ---

void AdaptiveStep::OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) {
  now_ = now;
  // A step that takes far longer than its work, because of links or lost workers, needs no more
  // decisions.
  pace_ = std::max(pace_, pace_part_ * now_);
  out_ = &out;
  std::visit([this](const auto& e) { On(e); }, event);
  if (missing_ == 0) {
    out.emplace_back(StepEnough{});
    next_tick_ = kNoTime;
  } else {
    GiveOrphans();
    if (now_ >= decided_ + pace_) Decide();
    next_tick_ = leased_ > 0 && !OnlyAwaits() ? now_ + pace_ : kNoTime;
  }
  out_ = nullptr;
}

void AdaptiveStep::On(const ListProgress& event) {
  if (!workers_[event.worker].live) return;
  Forecast& forecast = workers_[event.worker].forecast;
  forecast.Report(event.done, now_ - Latency(event.worker), event.compute_seconds);
  // If no speed was known, the whole step may be far shorter than predicted.
  const double believed = setting_.workers[event.worker].seconds_per_partition;
  if (forecast.done() == 0 || now_ <= 0 || forecast.Expected() > kWrong * believed) return;
  const double pace = believed_pace_ * forecast.Expected() / believed;
  pace_ = std::min(pace_, std::max({pace, pace_part_ * now_, setting_.least_pace_seconds}));
}

void AdaptiveStep::On(const ListReleased& event) {
  Worker& worker = workers_[event.worker];
  if (!worker.live || worker.asks.empty()) return;
  const std::vector<PartitionId> asked = std::move(worker.asks.front());
  worker.asks.pop_front();
  std::map<WorkerId, std::vector<PartitionId>> given;
  for (const PartitionId p : asked) {
    const WorkerId to = std::exchange(asked_for_[p], kNobody);
    --workers_[to].incoming;
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
    if (workers_[to].live) {
      given[to].push_back(p);
    } else {
      orphans_.push_back(p);
    }
  }
  for (auto& [to, partitions] : given) Extend(to, std::move(partitions));
}

void AdaptiveStep::On(const VectorArrived& event) {
  Worker& worker = workers_[event.worker];
  if (!worker.live) return;
  MOTLEY_ASSERT(worker.spent + event.entries <= worker.list.size());
  for (uint32_t i = 0; i < event.entries; ++i) {
    const PartitionId p = worker.list[worker.spent++];
    MOTLEY_ASSERT(!covered_[p]);
    covered_[p] = true;
    --missing_;
    --leased_;
  }
  worker.forecast.Report(worker.spent, now_ - Latency(event.worker));
}

void AdaptiveStep::On(const StepWorkerLost& event) {
  Worker& worker = workers_[event.worker];
  if (!worker.live) return;
  worker.live = false;
  // The worker gives nothing back any more, even if a vector covers it meanwhile.
  for (const std::vector<PartitionId>& asked : worker.asks) {
    for (const PartitionId p : asked) {
      --workers_[std::exchange(asked_for_[p], kNobody)].incoming;
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
  StepWorker nobody;
  nobody.live = false;
  while (workers_.size() <= w) {
    setting_.workers.push_back(nobody);
    workers_.emplace_back(ForecastOf(nobody, 0, 0));
    workers_.back().live = false;
  }
  if (workers_[w].live) return;
  setting_.workers[w] = known;
  Worker fresh(ForecastOf(known, known.start_seconds, now + known.data_seconds));
  fresh.forecast.Start(now);
  fresh.incoming = workers_[w].incoming;
  workers_[w] = std::move(fresh);
  link_matters_ = link_matters_ || known.message_seconds > 0;
  if (Latency(w) > Latency(slowest_link_)) slowest_link_ = w;
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
    if (asked_for_[p] != w) std::erase(setting_.holders[p], w);
  }
}

void AdaptiveStep::AddCopy(PartitionId partition, WorkerId holder) {
  setting_.holders[partition].push_back(holder);
}

void AdaptiveStep::DropCopies(WorkerId holder) {
  for (auto& holders : setting_.holders) std::erase(holders, holder);
}

// --- Decisions ---

// `seconds`: the present time of one partition.
double AdaptiveStep::DryAt(WorkerId w, double seconds) const {
  const Worker& worker = workers_[w];
  const auto kept = static_cast<uint32_t>(worker.list.size()) - worker.asked;
  if (kept <= worker.forecast.done()) return std::max(now_, worker.forecast.DataDue());
  return worker.forecast.DoneAt(kept, now_, seconds);
}

// Includes the partitions that it is meant to get from others.
double AdaptiveStep::BusyUntil(WorkerId w, double seconds) const {
  return DryAt(w, seconds) + workers_[w].incoming * seconds;
}

void AdaptiveStep::View() {
  view_.resize(workers_.size());
  busy_until_.resize(workers_.size());
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    const Worker& worker = workers_[w];
    BalanceWorker& seen = view_[w];
    seen.finish = seen.before = 0;
    seen.takes = worker.live;
    seen.movable.clear();
    seen.seconds = worker.Seconds(now_);
    if (!worker.live) continue;
    busy_until_[w] = BusyUntil(w, seen.seconds);
    // A partition that is asked for now arrives after the owner's answer: three ways.
    seen.finish = std::max(busy_until_[w], now_ + 3 * Latency(w));
  }
  SetSlots(view_);
}

// When the last worker with present or future work would be done. A worker without work would not
// delay the step, however far away it is.
double AdaptiveStep::LastOfView() const {
  double last = 0;
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    const BalanceWorker& seen = view_[w];
    const Worker& worker = workers_[w];
    const bool has = worker.spent < worker.list.size() || worker.incoming > 0;
    const bool gets = seen.finish > std::max(busy_until_[w], now_ + 3 * Latency(w));
    if (seen.takes && (has || gets)) last = std::max(last, seen.finish + seen.before);
  }
  return last;
}

// A worker whose data come when all is done is no help.
void AdaptiveStep::LeaveOutWhoWaitsBeyond(double end) {
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    const Worker& worker = workers_[w];
    const bool has = worker.spent < worker.list.size() || worker.incoming > 0;
    if (!has && worker.forecast.DataDue() >= end) view_[w].takes = false;
  }
}

// The entries that each worker will not have begun when it gets the message.
void AdaptiveStep::AddMovable() {
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    const Worker& worker = workers_[w];
    if (!worker.live) continue;
    const double begun = now_ + Latency(w);
    auto i = std::max(worker.forecast.done() + setting_.workers[w].report_every, worker.begun);
    // An overdue entry may stay so for long, and an entry that has begun is not given back.
    const bool overdue = worker.forecast.Overdue(now_);
    const double seconds = worker.forecast.Seconds(now_);
    while (!overdue && i < worker.list.size() && worker.forecast.DoneAt(i, now_, seconds) < begun) {
      ++i;
    }
    for (; i < worker.list.size(); ++i) {
      if (asked_for_[worker.list[i]] == kNobody) view_[w].movable.push_back(worker.list[i]);
    }
  }
}

// Each orphan goes to the holder that would have it done first.
void AdaptiveStep::GiveOrphans() {
  if (orphans_.empty()) return;
  View();
  std::vector<std::vector<PartitionId>> given(workers_.size());
  std::vector<PartitionId> left;
  for (const PartitionId p : orphans_) {
    WorkerId best = 0;
    double done = kNoTime;
    for (const WorkerId w : setting_.holders[p]) {
      if (!workers_[w].live) continue;
      const double late = view_[w].finish + view_[w].before + view_[w].seconds;
      if (late < done) best = w, done = late;
    }
    if (done == kNoTime) {
      left.push_back(p);
      continue;
    }
    view_[best].finish += view_[best].seconds;
    given[best].push_back(p);
  }
  orphans_ = std::move(left);
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    if (!given[w].empty()) Extend(w, std::move(given[w]));
  }
}

void AdaptiveStep::Decide() {
  decided_ = now_;
  View();
  const double as_it_is = LastOfView();
  LeaveOutWhoWaitsBeyond(as_it_is);
  const auto worth = [&](double evened) {
    return as_it_is - evened > kDoubt * std::max(0.0, evened - now_) + pace_;
  };
  std::vector<BalanceMove> moves;
  if (AnyNearlyDry() || worth(EvenedOf(view_))) {
    AddMovable();
    moves = Balance(view_, setting_.holders);
    const double evened = LastOfView();
    const double doubt = DoubtOfLatency(LatencyOf(moves), evened - now_);
    if (as_it_is - evened >= doubt) Ask(worth(evened) ? moves : Urgent(moves));
  }
  TellWhoIsNearlyDone(moves);
}

// True if everything is computed and asked for, so that nothing is left to decide.
bool AdaptiveStep::OnlyAwaits() {
  if (!orphans_.empty()) return false;
  for (size_t looked = 0; looked < workers_.size(); ++looked) {
    const Worker& worker = workers_[at_work_];
    const bool done = !worker.live || worker.spent == worker.list.size();
    if (!done && !(worker.idle() && worker.told)) return false;
    at_work_ = at_work_ + 1 < workers_.size() ? at_work_ + 1 : 0;
  }
  return true;
}

// Requests later than this before the end get their answer too late.
double AdaptiveStep::Lead(WorkerId giver, WorkerId taker) const {
  return 2 * Latency(giver) + Latency(taker) + 2 * pace_;
}

bool AdaptiveStep::AnyNearlyDry() const {
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    if (!workers_[w].live) continue;
    if (busy_until_[w] <= now_ + Lead(slowest_link_, w)) return true;
  }
  return false;
}

// The latency of the slowest link in these moves.
double AdaptiveStep::LatencyOf(const std::vector<BalanceMove>& moves) const {
  double latency = 0;
  for (const BalanceMove& move : moves) {
    latency = std::max({latency, Latency(move.from), Latency(move.to)});
  }
  return latency;
}

// Moves that cannot wait: the taker is about to run dry, or the giver to begin the partition.
std::vector<BalanceMove> AdaptiveStep::Urgent(const std::vector<BalanceMove>& moves) const {
  std::vector<BalanceMove> urgent;
  if (moves.empty()) return urgent;
  std::vector<double> dry(workers_.size(), -1);
  for (const BalanceMove& move : moves) {
    const Worker& giver = workers_[move.from];
    const double seconds = workers_[move.to].Seconds(now_);
    if (dry[move.to] < 0) dry[move.to] = BusyUntil(move.to, seconds);
    const auto at = std::find(giver.list.begin(), giver.list.end(), move.partition);
    const double begins =
        giver.forecast.DoneAt(static_cast<uint32_t>(at - giver.list.begin()), now_);
    const bool runs_dry = dry[move.to] <= now_ + Lead(move.from, move.to);
    const bool is_begun = begins <= now_ + Latency(move.from) + 2 * pace_;
    if (!runs_dry && !is_begun) continue;
    urgent.push_back(move);
    dry[move.to] += seconds;
  }
  return urgent;
}

void AdaptiveStep::Ask(const std::vector<BalanceMove>& moves) {
  if (moves.empty()) return;
  std::vector<std::vector<PartitionId>> asked(workers_.size());
  for (const BalanceMove& move : moves) {
    asked[move.from].push_back(move.partition);
    asked_for_[move.partition] = move.to;
    ++workers_[move.from].asked;
    ++workers_[move.to].incoming;
  }
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    if (asked[w].empty()) continue;
    workers_[w].asks.push_back(asked[w]);
    out_->emplace_back(RevokeList{w, std::move(asked[w])});
  }
}

void AdaptiveStep::TellWhoIsNearlyDone(const std::vector<BalanceMove>& moves) {
  std::vector<bool> gets(workers_.size(), false), gives(workers_.size(), false);
  for (const BalanceMove& move : moves) gets[move.to] = gives[move.from] = true;
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    Worker& worker = workers_[w];
    if (!worker.live || worker.told || gets[w] || worker.incoming > 0) continue;
    if (worker.spent == worker.list.size()) continue;
    // Nothing is meant for the worker, and mostly nothing was asked of it since.
    const double dry = gives[w] ? DryAt(w, worker.Seconds(now_)) : busy_until_[w];
    if (dry > now_ + Latency(w) + 2 * pace_) continue;
    worker.told = true;
    out_->emplace_back(SendVector{w});
  }
}

void AdaptiveStep::Extend(WorkerId w, std::vector<PartitionId> partitions) {
  Worker& worker = workers_[w];
  if (worker.idle()) worker.forecast.Start(now_ > 0 ? now_ + Latency(w) : 0);
  worker.told = false;
  leased_ += partitions.size();
  worker.list.insert(worker.list.end(), partitions.begin(), partitions.end());
  out_->emplace_back(ExtendList{w, std::move(partitions)});
}

}  // namespace motley
