// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/trial_search.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "fmt/core.h"

namespace motley {
namespace {

std::string Draw(const DrawnRange& range, Random& random) {
  const double part = random.NextDouble();
  double value = range.logarithmic ? range.from * std::pow(range.to / range.from, part)
                                   : range.from + (range.to - range.from) * part;
  if (range.whole) {
    value = std::clamp(std::round(value), std::ceil(range.from), std::floor(range.to));
    return fmt::format("{:.0f}", value + 0.0);  // Writes -0 as 0.
  }
  // Four digits are enough for a rate, and can be typed again.
  return fmt::format("{:.4g}", value);
}

// Trial number `trial` of a grid. The last flag varies first.
TrialValues GridPoint(const std::vector<TriedFlag>& flags, uint64_t trial) {
  TrialValues values(flags.size());
  for (size_t i = flags.size(); i-- > 0;) {
    const auto& list = std::get<std::vector<std::string>>(flags[i].values);
    values[i] = list[trial % list.size()];
    trial /= list.size();
  }
  return values;
}

TrialValues DrawTrial(const SearchPlan& plan, uint32_t trial) {
  Random random(plan.seed, Stream::kSweep, trial);
  TrialValues values;
  for (const TriedFlag& flag : plan.flags) {
    if (const auto* list = std::get_if<std::vector<std::string>>(&flag.values)) {
      values.push_back((*list)[random.Below(list->size())]);
    } else {
      values.push_back(Draw(std::get<DrawnRange>(flag.values), random));
    }
  }
  return values;
}

}  // namespace

uint64_t GridSize(const std::vector<TriedFlag>& flags) {
  uint64_t size = 1;
  for (const TriedFlag& flag : flags) {
    size *= std::get<std::vector<std::string>>(flag.values).size();
  }
  return size;
}

std::vector<TrialValues> ValuesOf(const SearchPlan& plan) {
  std::vector<TrialValues> all;
  if (plan.method == SearchMethod::kGrid) {
    const uint64_t size = GridSize(plan.flags);
    for (uint64_t trial = 0; trial < size; ++trial) all.push_back(GridPoint(plan.flags, trial));
    return all;
  }
  for (uint32_t trial = 0; trial < plan.trials; ++trial) all.push_back(DrawTrial(plan, trial));
  return all;
}

TrialSearch::TrialSearch(const SearchPlan& plan, uint32_t trials)
    : trials_(trials), keep_(plan.keep) {
  if (plan.method == SearchMethod::kAsha) {
    for (uint64_t epochs = plan.first_epochs; epochs < plan.epochs; epochs *= plan.keep) {
      lengths_.push_back(static_cast<uint32_t>(epochs));
    }
  }
  lengths_.push_back(plan.epochs);
  rungs_.resize(lengths_.size());
  for (Rung& rung : rungs_) rung.began.resize(trials);
}

// A trial that goes on after `rung`.
std::optional<uint32_t> TrialSearch::Promoted(uint32_t rung) const {
  if (rung + 1 >= rungs()) return std::nullopt;
  const Rung& from = rungs_[rung];
  std::vector<std::pair<double, uint32_t>> best = from.ended;
  std::sort(best.begin(), best.end());
  best.resize(best.size() / keep_);
  for (const auto& [loss, trial] : best) {
    if (std::isfinite(loss) && !rungs_[rung + 1].began[trial]) return trial;
  }
  return std::nullopt;
}

// The longest run first: it says most about the best trials.
std::optional<TrialSearch::Run> TrialSearch::Next() const {
  for (uint32_t rung = rungs(); rung-- > 0;) {
    if (const auto trial = Promoted(rung)) return Run{*trial, rung + 1, EpochsOf(rung + 1)};
  }
  const std::vector<bool>& began = rungs_.front().began;
  const auto fresh = std::find(began.begin(), began.end(), false);
  if (fresh == began.end()) return std::nullopt;
  return Run{static_cast<uint32_t>(fresh - began.begin()), 0, EpochsOf(0)};
}

void TrialSearch::Started(const Run& run) {
  rungs_[run.rung].began[run.trial] = true;
  ++running_;
}

void TrialSearch::Ended(const Run& run, double loss) {
  if (std::isnan(loss)) loss = std::numeric_limits<double>::infinity();
  rungs_[run.rung].ended.emplace_back(loss, run.trial);
  --running_;
}

uint32_t TrialSearch::known_runs() const {
  uint32_t runs = trials_;
  for (size_t rung = 1; rung < rungs_.size(); ++rung) {
    const std::vector<bool>& began = rungs_[rung].began;
    runs += static_cast<uint32_t>(std::count(began.begin(), began.end(), true));
  }
  return runs;
}

}  // namespace motley
