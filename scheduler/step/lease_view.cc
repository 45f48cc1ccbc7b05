// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/lease_view.h"

#include <algorithm>

namespace motley {
namespace {

// `ready`: how long the worker waits for the parameters, including `data` before them.
Forecast ForecastOf(const StepWorker& known, double ready, double data) {
  Forecast forecast(known.seconds_per_partition, known.overhead_seconds + ready,
                    known.latency_seconds, known.report_every);
  forecast.SetData(data);
  return forecast;
}

}  // namespace

LeaseView::LeaseView(StepSetting as_set)
    : setting(std::move(as_set)), asked_for(setting.holders.size(), kNobody) {
  for (const StepWorker& known : setting.workers) start_link += known.start_link_seconds;
  for (const StepWorker& known : setting.workers) {
    workers.emplace_back(ForecastOf(known, ReadySeconds(known, start_link), known.data_seconds));
    workers.back().live = known.live;
    Notice(static_cast<WorkerId>(workers.size() - 1));
  }
}

void LeaseView::Notice(WorkerId w) {
  link_matters = link_matters || setting.workers[w].message_seconds > 0;
  if (workers[w].live && Latency(w) > Latency(slowest_link)) slowest_link = w;
}

void LeaseView::Join(WorkerId w, const StepWorker& known) {
  StepWorker nobody;
  nobody.live = false;
  while (workers.size() <= w) {
    setting.workers.push_back(nobody);
    workers.emplace_back(ForecastOf(nobody, 0, 0));
    workers.back().live = false;
  }
  setting.workers[w] = known;
  LeasedWorker fresh(ForecastOf(known, known.start_seconds, now + known.data_seconds));
  fresh.forecast.Start(now);
  fresh.incoming = workers[w].incoming;
  workers[w] = std::move(fresh);
  Notice(w);
}

// Vectors that occupy the server's link come one after the other. The slowest workers, whose time
// is worth least, are to be done first.
void LeaseView::SetSlots(std::vector<BalanceWorker>& plan) const {
  if (!link_matters) {
    for (WorkerId w = 0; w < workers.size(); ++w) {
      plan[w].before = Latency(w) + setting.workers[w].send_seconds;
    }
    return;
  }
  std::vector<std::pair<double, WorkerId>> order;
  order.reserve(workers.size());
  for (WorkerId w = 0; w < workers.size(); ++w) {
    if (workers[w].live) order.emplace_back(plan[w].seconds, w);
  }
  std::sort(order.begin(), order.end());
  double link = 0;
  for (const auto& [seconds, w] : order) {
    link += setting.workers[w].message_seconds;
    plan[w].before = link + Latency(w) + setting.workers[w].send_seconds;
  }
}

double LeaseView::DryAt(WorkerId w, double seconds) const {
  const LeasedWorker& worker = workers[w];
  const auto kept = static_cast<uint32_t>(worker.list.size()) - worker.asked;
  if (kept <= worker.forecast.done()) return std::max(now, worker.forecast.DataDue());
  return worker.forecast.DoneAt(kept, now, seconds);
}

double LeaseView::BusyUntil(WorkerId w, double seconds) const {
  return DryAt(w, seconds) + workers[w].incoming * seconds;
}

void LeaseView::Look() {
  seen.resize(workers.size());
  busy_until.resize(workers.size());
  for (WorkerId w = 0; w < workers.size(); ++w) {
    const LeasedWorker& worker = workers[w];
    BalanceWorker& as_seen = seen[w];
    as_seen.finish = as_seen.before = 0;
    as_seen.takes = worker.live;
    as_seen.movable.clear();
    as_seen.seconds = worker.Seconds(now);
    if (!worker.live) continue;
    busy_until[w] = BusyUntil(w, as_seen.seconds);
    // A partition that is asked for now arrives after the owner's answer: three ways.
    as_seen.finish = std::max(busy_until[w], now + 3 * Latency(w));
  }
  SetSlots(seen);
}

double LeaseView::Last() const {
  double last = 0;
  for (WorkerId w = 0; w < workers.size(); ++w) {
    const BalanceWorker& as_seen = seen[w];
    const bool gets = as_seen.finish > std::max(busy_until[w], now + 3 * Latency(w));
    if (as_seen.takes && (workers[w].has_work() || gets)) {
      last = std::max(last, as_seen.finish + as_seen.before);
    }
  }
  return last;
}

void LeaseView::LeaveOutWhoWaitsBeyond(double end) {
  for (WorkerId w = 0; w < workers.size(); ++w) {
    if (!workers[w].has_work() && workers[w].forecast.DataDue() >= end) seen[w].takes = false;
  }
}

void LeaseView::AddMovable() {
  for (WorkerId w = 0; w < workers.size(); ++w) {
    const LeasedWorker& worker = workers[w];
    if (!worker.live) continue;
    const double begun = now + Latency(w);
    auto i = std::max(worker.forecast.done() + setting.workers[w].report_every, worker.begun);
    // An overdue entry may stay so for long, and an entry that has begun is not given back.
    const bool overdue = worker.forecast.Overdue(now);
    const double seconds = worker.forecast.Seconds(now);
    while (!overdue && i < worker.list.size() && worker.forecast.DoneAt(i, now, seconds) < begun) {
      ++i;
    }
    for (; i < worker.list.size(); ++i) {
      if (asked_for[worker.list[i]] == kNobody) seen[w].movable.push_back(worker.list[i]);
    }
  }
}

// Requests later than this before the end get their answer too late.
double LeaseView::Lead(WorkerId giver, WorkerId taker, double pace) const {
  return 2 * Latency(giver) + Latency(taker) + 2 * pace;
}

bool LeaseView::AnyNearlyDry(double pace) const {
  for (WorkerId w = 0; w < workers.size(); ++w) {
    if (!workers[w].live) continue;
    if (busy_until[w] <= now + Lead(slowest_link, w, pace)) return true;
  }
  return false;
}

double LeaseView::LatencyOf(const std::vector<BalanceMove>& moves) const {
  double latency = 0;
  for (const BalanceMove& move : moves) {
    latency = std::max({latency, Latency(move.from), Latency(move.to)});
  }
  return latency;
}

std::vector<BalanceMove> LeaseView::Urgent(const std::vector<BalanceMove>& moves,
                                           double pace) const {
  std::vector<BalanceMove> urgent;
  if (moves.empty()) return urgent;
  std::vector<double> dry(workers.size(), -1);
  for (const BalanceMove& move : moves) {
    const LeasedWorker& giver = workers[move.from];
    const double seconds = workers[move.to].Seconds(now);
    if (dry[move.to] < 0) dry[move.to] = BusyUntil(move.to, seconds);
    const auto at = std::find(giver.list.begin(), giver.list.end(), move.partition);
    const double begins =
        giver.forecast.DoneAt(static_cast<uint32_t>(at - giver.list.begin()), now);
    const bool runs_dry = dry[move.to] <= now + Lead(move.from, move.to, pace);
    const bool is_begun = begins <= now + Latency(move.from) + 2 * pace;
    if (!runs_dry && !is_begun) continue;
    urgent.push_back(move);
    dry[move.to] += seconds;
  }
  return urgent;
}

}  // namespace motley
