// SPDX-License-Identifier: Apache-2.0
#include "scheduler/observed_rounds.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace motley {
namespace {

constexpr size_t kRounds = 32;      // Are kept.
constexpr size_t kReplayed = 2048;  // Of more worker-rounds, only the last rounds are replayed,
constexpr size_t kLeastRounds = 8;  // and so many at least.

}  // namespace

void ObservedRounds::See(const Event& event) {
  if (const auto* lease = std::get_if<LeaseProgress>(&event)) {
    Report(lease->worker, lease->done * samples_, lease->compute);
  } else if (const auto* row = std::get_if<WorkerProgress>(&event)) {
    Report(row->worker, static_cast<double>(row->samples), row->compute);
  } else if (const auto* free = std::get_if<WorkerFree>(&event)) {
    Report(free->worker, static_cast<double>(free->samples), free->compute);
  }
}

void ObservedRounds::See(const Command& command, Time now) {
  if (std::holds_alternative<OpenStep>(command) || std::holds_alternative<OpenLeases>(command)) {
    open_ = Round{std::vector<Worked>(open_.workers.size()), 0};
  } else if (const auto* row = std::get_if<AssignRow>(&command)) {
    Give(row->worker, now);
  } else if (const auto* lease = std::get_if<ExtendLease>(&command)) {
    Give(lease->worker, now);
  } else if (std::holds_alternative<CommitStep>(command)) {
    for (Worked& one : open_.workers) {
      if (one.given && one.samples == 0) one.silent = ToSeconds(now - one.since);
    }
    rounds_.push_back(open_);
    if (rounds_.size() > kRounds) rounds_.pop_front();
  }
}

void ObservedRounds::Took(double seconds) {
  if (!rounds_.empty()) rounds_.back().seconds = seconds;
}

void ObservedRounds::Change() {
  for (Round& round : rounds_) round.seconds = 0;
}

void ObservedRounds::Give(WorkerId worker, Time now) {
  if (worker >= open_.workers.size()) open_.workers.resize(worker + 1);
  Worked& one = open_.workers[worker];
  if (!one.given) one.since = now;
  one.given = true;
}

// What comes after the step ended belongs to the last one that is kept, until there is new work.
void ObservedRounds::Report(WorkerId worker, double samples, Duration compute) {
  if (samples <= 0 || compute <= Duration::zero() || worker >= open_.workers.size()) return;
  const auto add = [&](Worked& one) {
    if (samples <= one.samples) return;
    one.samples = samples;
    one.seconds = ToSeconds(compute);
    if (one.first_samples > 0) return;
    one.first_samples = one.samples;
    one.first_seconds = one.seconds;
  };
  if (open_.workers[worker].given) add(open_.workers[worker]);
  const bool last = !rounds_.empty() && worker < rounds_.back().workers.size();
  if (last && rounds_.back().workers[worker].silent > 0) add(rounds_.back().workers[worker]);
}

PlannedRound::Worker ObservedRounds::Summary(const Worked& worked) {
  PlannedRound::Worker one;
  if (worked.samples == 0) {
    one.begins_late = worked.silent;
    return one;
  }
  one.seconds_per_sample = worked.seconds / worked.samples;
  if (worked.samples <= worked.first_samples) return one;
  const double each =
      (worked.seconds - worked.first_seconds) / (worked.samples - worked.first_samples);
  const double late = worked.first_seconds - each * worked.first_samples;
  if (late <= 0) return one;
  one.begins_late = late;
  one.seconds_per_sample = each;
  return one;
}

std::vector<PlannedRound> ObservedRounds::Of(const std::vector<WorkerId>& workers) const {
  std::vector<PlannedRound> planned;
  const size_t most = std::max(kLeastRounds, kReplayed / std::max<size_t>(1, workers.size()));
  for (size_t i = rounds_.size() - std::min(rounds_.size(), most); i < rounds_.size(); ++i) {
    PlannedRound& round = planned.emplace_back();
    round.seconds = rounds_[i].seconds;
    for (const WorkerId id : workers) {
      const bool known = id < rounds_[i].workers.size();
      round.workers.push_back(known ? Summary(rounds_[i].workers[id]) : PlannedRound::Worker{});
    }
  }
  return planned;
}

}  // namespace motley
