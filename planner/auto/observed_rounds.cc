// SPDX-License-Identifier: Apache-2.0
#include "planner/auto/observed_rounds.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

namespace motley {
namespace {

constexpr size_t kRounds = 32;  // The number of rounds that are kept.
// With many workers only the last rounds are replayed: this many worker-rounds, but at least
// kLeastRounds rounds.
constexpr size_t kReplayed = 2048;
constexpr size_t kLeastRounds = 8;
constexpr double kUnknown = std::numeric_limits<double>::infinity();

}  // namespace

void ObservedRounds::See(const Event& event) {
  if (const auto* lease = std::get_if<LeaseProgress>(&event)) {
    Report(lease->worker, lease->done * samples_, lease->compute, false);
  } else if (const auto* row = std::get_if<WorkerProgress>(&event)) {
    Report(row->worker, static_cast<double>(row->samples), row->compute, false);
  } else if (const auto* free = std::get_if<WorkerFree>(&event)) {
    Report(free->worker, static_cast<double>(free->samples), free->compute, true);
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

// A report after the end of a step belongs to the last round that is kept, until there is new work.
void ObservedRounds::Report(WorkerId worker, double samples, Duration compute, bool row_ended) {
  if (samples <= 0 || compute <= Duration::zero() || worker >= open_.workers.size()) return;
  const auto add = [&](Worked& one) {
    const double all = one.rows_samples + samples, seconds = one.rows_seconds + ToSeconds(compute);
    if (row_ended) one.rows_samples = all, one.rows_seconds = seconds;
    if (all <= one.samples) return;
    one.samples = all;
    one.seconds = seconds;
    if (one.first_samples > 0) return;
    one.first_samples = one.samples;
    one.first_seconds = one.seconds;
  };
  if (open_.workers[worker].given) add(open_.workers[worker]);
  const bool last = !rounds_.empty() && worker < rounds_.back().workers.size();
  if (last && rounds_.back().workers[worker].silent > 0) add(rounds_.back().workers[worker]);
}

std::optional<double> ObservedRounds::Slope(const Worked& worked) {
  if (worked.samples <= worked.first_samples) return {};
  const double each =
      (worked.seconds - worked.first_seconds) / (worked.samples - worked.first_samples);
  if (worked.first_seconds <= each * worked.first_samples) return {};
  return each;
}

// Seconds per sample for each worker once it has begun. A single report cannot distinguish slow
// samples from a late beginning. Such a worker's least mean time per sample is therefore multiplied
// by the median ratio of slope to mean time among the others.
std::vector<double> ObservedRounds::SecondsPerSample(const std::vector<WorkerId>& workers) const {
  std::vector<double> slopes(workers.size(), kUnknown), means(workers.size(), kUnknown), parts;
  for (size_t w = 0; w < workers.size(); ++w) {
    for (const Round& round : rounds_) {
      if (workers[w] >= round.workers.size() || round.workers[workers[w]].samples == 0) continue;
      const Worked& worked = round.workers[workers[w]];
      means[w] = std::min(means[w], worked.seconds / worked.samples);
      slopes[w] = std::min(slopes[w], Slope(worked).value_or(kUnknown));
    }
    if (slopes[w] < kUnknown) parts.push_back(std::min(1.0, slopes[w] / means[w]));
  }
  std::sort(parts.begin(), parts.end());
  const double part = parts.empty() ? 1 : parts[parts.size() / 2];
  for (size_t w = 0; w < workers.size(); ++w) slopes[w] = std::min(slopes[w], part * means[w]);
  return slopes;
}

PlannedRound::Worker ObservedRounds::Summary(const Worked& worked, double usual) {
  PlannedRound::Worker one;
  if (worked.samples == 0) {
    one.begins_late = worked.silent;
    return one;
  }
  const bool one_report = worked.samples <= worked.first_samples;
  const double mean = worked.seconds / worked.samples;
  const std::optional<double> slope = one_report ? std::min(usual, mean) : Slope(worked);
  one.seconds_per_sample = slope.value_or(mean);
  one.begins_late = std::max(0.0, worked.seconds - one.seconds_per_sample * worked.samples);
  return one;
}

std::vector<PlannedRound> ObservedRounds::Of(const std::vector<WorkerId>& workers) const {
  std::vector<PlannedRound> planned;
  const std::vector<double> usual = SecondsPerSample(workers);
  const size_t most = std::max(kLeastRounds, kReplayed / std::max<size_t>(1, workers.size()));
  for (size_t i = rounds_.size() - std::min(rounds_.size(), most); i < rounds_.size(); ++i) {
    PlannedRound& round = planned.emplace_back();
    round.seconds = rounds_[i].seconds;
    for (size_t w = 0; w < workers.size(); ++w) {
      const WorkerId id = workers[w];
      const bool known = id < rounds_[i].workers.size();
      round.workers.push_back(known ? Summary(rounds_[i].workers[id], usual[w])
                                    : PlannedRound::Worker{});
    }
  }
  return planned;
}

}  // namespace motley
