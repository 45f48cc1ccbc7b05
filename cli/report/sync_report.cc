// SPDX-License-Identifier: Apache-2.0
#include "cli/report/sync_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "api/reports/job_report.h"
#include "base/counted.h"
#include "cli/report/table.h"
#include "cli/terminal/terminal.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

// The default target is this much worse than what the first mode reaches.
constexpr double kOfAccuracy = 0.99, kOfLoss = 1.05;

int DecimalsOf(double seconds) { return seconds >= 100 ? 0 : seconds >= 1 ? 2 : 4; }

std::string TimeText(const std::vector<double>& seconds, size_t seeds) {
  if (seconds.empty()) return "not reached";
  const double mean = Mean(seconds);
  const int decimals = DecimalsOf(mean);
  std::string text = fmt::format("{:.{}f}", mean, decimals);
  if (seconds.size() > 1) text += fmt::format(" +- {:.{}f}", Deviation(seconds), decimals);
  if (seconds.size() < seeds) text += fmt::format(" ({} of {})", seconds.size(), seeds);
  return text;
}

// The first trial on the same cluster, with which the others are compared.
const SyncTrial& BaselineOf(const SyncComparison& comparison, const SyncTrial& trial) {
  return *std::find_if(comparison.trials.begin(), comparison.trials.end(),
                       [&](const SyncTrial& each) { return each.cluster == trial.cluster; });
}

// Time of the baseline in multiples of the trial's; empty: one of them does not reach the target.
std::string GainText(const SyncComparison& comparison, const SyncTrial& trial) {
  const SyncTrial& baseline = BaselineOf(comparison, trial);
  const std::vector<double> base = baseline.SecondsTo(comparison.target);
  const std::vector<double> own = trial.SecondsTo(comparison.target);
  const bool all = base.size() == baseline.seeds.size() && own.size() == trial.seeds.size();
  return all && Mean(own) > 0 ? fmt::format("{:.2f}", Mean(base) / Mean(own)) : "-";
}

// The same figures for each seed, for paired comparisons.
nlohmann::ordered_json BySeed(const SyncTrial& trial, const SyncTarget& target) {
  auto all = nlohmann::ordered_json::array();
  for (size_t seed = 0; seed < trial.seeds.size(); ++seed) {
    const LearningCurve& curve = trial.seeds[seed];
    const CurvePoint& last = curve.back();
    nlohmann::ordered_json one = {
        {"seconds_to_target", nullptr}, {"final_accuracy", nullptr}, {"final_loss", last.loss}};
    if (!trial.work.empty()) {
      one["seconds"] = trial.work[seed].seconds;
      one["samples"] = trial.work[seed].samples;
    }
    if (const auto seconds = target.SecondsOf(curve)) one["seconds_to_target"] = *seconds;
    if (last.accuracy) one["final_accuracy"] = *last.accuracy;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

bool SyncTarget::ReachedBy(const CurvePoint& point) const {
  if (!std::isfinite(point.loss)) return false;
  return accuracy ? point.accuracy.value_or(0) >= value : point.loss <= value;
}

std::optional<double> SyncTarget::SecondsOf(const LearningCurve& curve) const {
  if (!std::isfinite(curve.back().loss)) return std::nullopt;
  const auto first = std::find_if(curve.begin(), curve.end(),
                                  [this](const CurvePoint& point) { return ReachedBy(point); });
  if (first == curve.end()) return std::nullopt;
  return first->seconds;
}

std::string SyncTarget::Text() const {
  return fmt::format("{} {:.4g}", accuracy ? "accuracy" : "loss", value);
}

std::vector<double> SyncTrial::SecondsTo(const SyncTarget& target) const {
  std::vector<double> all;
  for (const LearningCurve& curve : seeds) {
    if (const auto seconds = target.SecondsOf(curve)) all.push_back(*seconds);
  }
  return all;
}

double SyncTrial::FinalLoss() const {
  double sum = 0;
  for (const LearningCurve& curve : seeds) sum += curve.back().loss;
  return sum / static_cast<double>(seeds.size());
}

std::optional<double> SyncTrial::FinalAccuracy() const {
  double sum = 0;
  for (const LearningCurve& curve : seeds) {
    if (!curve.back().accuracy) return std::nullopt;
    sum += *curve.back().accuracy;
  }
  return sum / static_cast<double>(seeds.size());
}

bool SyncTrial::BetterThan(const SyncTrial& other, const SyncTarget& target) const {
  const std::vector<double> own = SecondsTo(target);
  const std::vector<double> others = other.SecondsTo(target);
  if (own.size() != others.size()) return own.size() > others.size();
  // A loss that is no number is the worst.
  if (own.empty()) return FinalLoss() < other.FinalLoss() || std::isnan(other.FinalLoss());
  return Mean(own) < Mean(others);
}

Result<SyncTarget> DefaultTarget(const std::vector<SyncTrial>& trials, bool classes) {
  const SyncTrial* best = nullptr;
  const SyncTarget unreachable{false, -1};  // Only the final loss is compared.
  for (const SyncTrial& trial : trials) {
    if (trial.sync != trials.front().sync) continue;
    if (best == nullptr || trial.BetterThan(*best, unreachable)) best = &trial;
  }
  if (!std::isfinite(best->FinalLoss())) {
    return Status::InvalidArgument(
        fmt::format("--sync {0}: the training with {0} diverges with every rate, so there is no "
                    "default target. Try smaller --rates, or give a {1}",
                    best->sync, classes ? "--target-accuracy" : "--target-loss"));
  }
  if (classes) return SyncTarget{true, kOfAccuracy * best->FinalAccuracy().value_or(0)};
  return SyncTarget{false, kOfLoss * best->FinalLoss()};
}

double Deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = Mean(values);
  const double squares = std::accumulate(
      values.begin(), values.end(), 0.0,
      [mean](double sum, double value) { return sum + (value - mean) * (value - mean); });
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::string SyncTable(const SyncComparison& comparison, size_t columns) {
  std::string text = fmt::format("{}\n", comparison.job);
  if (!comparison.staleness.empty()) text += comparison.staleness + "\n";
  std::string cluster;
  const size_t seeds = comparison.trials.front().seeds.size();
  std::optional<Table> table;
  const auto finish = [&] {
    if (!table) return;
    table->Fit(columns, {"rate", "final loss"});
    text += table->Format();
  };
  for (const SyncTrial& trial : comparison.trials) {
    if (!table || trial.cluster != cluster) {
      finish();
      cluster = trial.cluster;
      text += fmt::format("\n{}, {}\n", cluster, Counted(trial.workers, "worker"));
      table.emplace(std::vector<std::string>{"sync", "s to target", "gain", "final accuracy",
                                             "final loss", "rate"});
    }
    const std::optional<double> accuracy = trial.FinalAccuracy();
    table->Add({trial.sync, TimeText(trial.SecondsTo(comparison.target), trial.seeds.size()),
                GainText(comparison, trial), accuracy ? fmt::format("{:.4f}", *accuracy) : "-",
                fmt::format("{:.4g}", trial.FinalLoss()), fmt::format("{:g}", trial.rate)});
  }
  finish();
  return text + WrapText(fmt::format("\ntarget: {}; {}; gain: how many times faster than {}; "
                                     "times are those of the simulated cluster\n",
                                     comparison.target.Text(), Counted(seeds, "seed"),
                                     comparison.trials.front().sync),
                         columns);
}

std::string SyncJson(const SyncComparison& comparison) {
  auto json = nlohmann::ordered_json::array();
  for (const SyncTrial& trial : comparison.trials) {
    const std::vector<double> seconds = trial.SecondsTo(comparison.target);
    nlohmann::ordered_json one = {{"sync", trial.sync},
                                  {"cluster", trial.cluster},
                                  {"workers", trial.workers},
                                  {"seconds_to_target_mean", nullptr},
                                  {"seconds_to_target_stddev", nullptr},
                                  {"final_accuracy", nullptr},
                                  {"final_loss", trial.FinalLoss()},
                                  {"rate", trial.rate},
                                  {"staleness", trial.staleness},
                                  {"target", comparison.target.Text()},
                                  {"seeds", trial.seeds.size()},
                                  {"seeds_that_reach_it", seconds.size()}};
    if (!seconds.empty()) one["seconds_to_target_mean"] = Mean(seconds);
    if (seconds.size() > 1) one["seconds_to_target_stddev"] = Deviation(seconds);
    if (const auto accuracy = trial.FinalAccuracy()) one["final_accuracy"] = *accuracy;
    one["by_seed"] = BySeed(trial, comparison.target);
    json.push_back(std::move(one));
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace motley
