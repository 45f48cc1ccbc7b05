// SPDX-License-Identifier: Apache-2.0
// motley-planner-grid: compares the planner's choice with the best scheme over a grid of random
// clusters whose profiles are wrong. The full simulator judges, on true figures and seeds that the
// planner does not see.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/reports/notice_text.h"
#include "base/parallel.h"
#include "benchmarks/planner/planner_judge.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

constexpr uint64_t kHeldOut = 1'000'000;  // Added to seeds that judge.
constexpr double kWins = 0.05;  // "Wins" means faster than proportional shares by this fraction.

struct Flags {
  uint32_t clusters = 240;
  uint64_t seed = 1;
  uint32_t threads = 1;
  SimulatedSteps steps;
  double most_mean = 5, most_worst = 25;  // Per cent.
  JudgeWhat judge = JudgeWhat::kPlanner;
  uint32_t first = 0;      // First cluster.
  bool transient = false;  // Whole jobs on clusters with transient trouble.
  bool explain = false, json = false;
};

struct Row {
  uint32_t index = 0;
  PlannerCase made;
  JudgedCase judged;
};

// Groups clusters by a figure: "one of 3 thirds" of its range.
struct Axis {
  const char* name;
  double (*figure)(const PlannerCase&);
  std::vector<double> cuts;
  std::vector<const char*> labels;
};

const std::vector<Axis>& Axes() {
  static const std::vector<Axis> axes = {
      {"speeds apart",
       [](const PlannerCase& c) { return c.spread; },
       {2, 6},
       {"up to 2 x", "2 to 6 x", "6 to 20 x"}},
      {"latency / step",
       [](const PlannerCase& c) { return c.latency_seconds / c.step_seconds; },
       {0.01, 0.2},
       {"below 1 %", "1 to 20 %", "above 20 %"}},
      {"all vectors / step",
       [](const PlannerCase& c) {
         return c.message_seconds * static_cast<double>(c.truth.workers.size()) / c.step_seconds;
       },
       {0.1, 1},
       {"below 10 %", "10 to 100 %", "above 100 %"}},
      {"stragglers per step",
       [](const PlannerCase& c) {
         return c.truth.workers[0].slow_probability * static_cast<double>(c.truth.workers.size());
       },
       {0.01, 0.2},
       {"below 0.01", "0.01 to 0.2", "above 0.2"}},
      {"losses per step",
       [](const PlannerCase& c) {
         return c.truth.workers[0].loss_probability * static_cast<double>(c.truth.workers.size());
       },
       {1e-4, 3e-3},
       {"below 0.0001", "to 0.003", "above 0.003"}},
  };
  return axes;
}

size_t BinOf(const Axis& axis, const PlannerCase& made) {
  size_t bin = 0;
  while (bin < axis.cuts.size() && axis.figure(made) >= axis.cuts[bin]) ++bin;
  return bin;
}

// The scheme without its copies.
std::string SchemeOf(const std::string& name) { return name.substr(0, name.find(' ')); }

std::string WhereText(const std::vector<Row>& rows) {
  std::string text;
  for (const Axis& axis : Axes()) {
    text += fmt::format("\n{}\n", axis.name);
    for (size_t bin = 0; bin < axis.labels.size(); ++bin) {
      std::map<std::string, int> best;
      int count = 0, pays = 0;
      for (const Row& row : rows) {
        if (BinOf(axis, row.made) != bin) continue;
        ++count;
        ++best[SchemeOf(row.judged.best)];
        pays += row.judged.best_seconds < (1 - kWins) * row.judged.uncoded_seconds ? 1 : 0;
      }
      text += fmt::format("  {:<14}{:>4} clusters, redundancy pays in {:>3.0f} %; best:",
                          axis.labels[bin], count, count > 0 ? 100.0 * pays / count : 0);
      for (const auto& [scheme, times] : best) text += fmt::format(" {} {}", scheme, times);
      text += "\n";
    }
  }
  return text;
}

// True if sending all vectors takes the server's link longer than the step's work.
bool IsThin(const PlannerCase& made) {
  return made.message_seconds * static_cast<double>(made.truth.workers.size()) > made.step_seconds;
}

struct Summary {
  double mean = 0, worst = 0;
  double mean_over_all = 0, worst_over_all = 0;  // Includes rows of fewer workers.
  size_t worst_index = 0;
  bool Passes(const Flags& flags) const {
    return 100 * mean <= flags.most_mean && 100 * worst <= flags.most_worst;
  }
};

Summary Summarise(const std::vector<Row>& rows) {
  Summary summary;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double excess = rows[i].judged.Excess();
    summary.mean += excess / static_cast<double>(rows.size());
    if (excess > summary.worst) summary.worst = excess, summary.worst_index = i;
    const double over_all = rows[i].judged.ExcessOverAll();
    summary.mean_over_all += over_all / static_cast<double>(rows.size());
    summary.worst_over_all = std::max(summary.worst_over_all, over_all);
  }
  return summary;
}

std::string Text(const std::vector<Row>& rows, const Summary& summary, const Flags& flags) {
  std::string text = fmt::format(
      "{} clusters, profiles wrong by up to {:.0f} %, judged by the simulator on held-out seeds\n"
      "{} takes {:.1f} % longer than the best fixed scheme of each cluster on average "
      "(at most {:.0f} %), {:.1f} % at worst (at most {:.0f} %, cluster {}: {} instead of {})\n",
      rows.size(), 100 * kProfileError,
      flags.judge == JudgeWhat::kAuto ? "auto" : "the planner's choice", 100 * summary.mean,
      flags.most_mean, 100 * summary.worst, flags.most_worst, rows[summary.worst_index].index,
      rows[summary.worst_index].judged.chosen, rows[summary.worst_index].judged.best);
  if (flags.judge == JudgeWhat::kAuto) {
    const auto same = std::count_if(rows.begin(), rows.end(), [](const Row& row) {
      return row.judged.planned == row.judged.first;
    });
    text +=
        fmt::format("motley plan names what the job chose first in {} of {}\n", same, rows.size());
  }
  for (const bool thin : {false, true}) {
    std::vector<Row> part;
    for (const Row& row : rows) {
      if (IsThin(row.made) == thin) part.push_back(row);
    }
    const Summary of = Summarise(part);
    text += fmt::format(
        "  of which {} {}: {:.1f} % on average, {:.1f} % at worst; than the best of all, rows of "
        "fewer workers included: {:.1f} %, {:.1f} %\n",
        part.size(), thin ? "whose vectors take longer than the work" : "others", 100 * of.mean,
        100 * of.worst, 100 * of.mean_over_all, 100 * of.worst_over_all);
  }
  std::map<std::string, std::pair<int, int>> names;  // Counts by scheme: truly best, and chosen.
  for (const Row& row : rows) {
    ++names[row.judged.best].first;
    ++names[row.judged.chosen].second;
  }
  text += fmt::format("\n{:<18}{:>6}{:>8}\n", "scheme, copies", "best", "chosen");
  for (const auto& [name, counts] : names) {
    text += fmt::format("{:<18}{:>6}{:>8}\n", name, counts.first, counts.second);
  }
  return text + WhereText(rows);
}

// For each cluster, worst first: what was predicted, and what happened.
std::string Explain(const std::vector<Row>& rows) {
  std::vector<const Row*> order;
  for (const Row& row : rows) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const Row* a, const Row* b) {
    return a->judged.Excess() > b->judged.Excess();
  });
  std::string text;
  for (const Row* row : order) {
    const PlannerCase& made = row->made;
    const PlannedWorker& worker = made.truth.workers.front();
    const auto n = static_cast<double>(made.truth.workers.size());
    text += fmt::format(
        "cluster {}: {} takes {:.1f} % longer than {}\n"
        "  {} workers {:.1f} x apart, step {:.4g} ms, latency {:.3g} ms, a vector {:.4g} ms and "
        "its own link {:.4g} ms more (all {:.2f} steps), jitter {:.1f} %, {:.4f} stragglers {:.1f} "
        "x"
        " slower and {:.4f} losses a step\n",
        row->index, row->judged.chosen, 100 * row->judged.Excess(), row->judged.best, n,
        made.spread, 1e3 * made.step_seconds, 1e3 * made.latency_seconds,
        1e3 * made.message_seconds, 1e3 * worker.send_seconds,
        made.message_seconds * n / made.step_seconds, 100 * worker.jitter,
        worker.slow_probability * n, worker.slow_factor, worker.loss_probability * n);
    text += fmt::format("  planned: {}\n", row->judged.planned);
    for (const CodeChoice& choice : row->judged.choices) {
      text += fmt::format("  step {}: {}, tolerates {}: {}\n", choice.step, choice.code,
                          choice.tolerate, ReasonText(choice.why));
    }
    text += fmt::format("  {:<26}{:>12}{:>12}{:>8}{:>12}{:>8}\n", "scheme, copies", "ms a step",
                        "foreseen", "/ true", "by profile", "/ true");
    for (const JudgedScheme& scheme : row->judged.schemes) {
      text += fmt::format("  {:<26}{:>12.4g}{:>12.4g}{:>8.2f}{:>12.4g}{:>8.2f}{}\n", scheme.name,
                          1e3 * scheme.seconds, 1e3 * scheme.foreseen,
                          scheme.foreseen / scheme.seconds, 1e3 * scheme.profiled,
                          scheme.profiled / scheme.seconds, scheme.brief ? "  few steps" : "");
    }
    text += "\n";
  }
  return text;
}

std::string Json(const std::vector<Row>& rows, const Summary& summary, const Flags& flags) {
  auto list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    list.push_back({{"workers", row.made.truth.workers.size()},
                    {"spread", row.made.spread},
                    {"latency_seconds", row.made.latency_seconds},
                    {"step_seconds", row.made.step_seconds},
                    {"gradient_bytes", row.made.gradient_bytes},
                    {"message_seconds", row.made.message_seconds},
                    {"slow_probability", row.made.truth.workers[0].slow_probability},
                    {"loss_probability", row.made.truth.workers[0].loss_probability},
                    {"chosen", row.judged.chosen},
                    {"best", row.judged.best},
                    {"chosen_seconds", row.judged.chosen_seconds},
                    {"best_seconds", row.judged.best_seconds},
                    {"least_seconds", row.judged.least_seconds},
                    {"uncoded_seconds", row.judged.uncoded_seconds}});
  }
  const nlohmann::ordered_json json = {{"mean_excess", summary.mean},
                                       {"worst_excess", summary.worst},
                                       {"pass", summary.Passes(flags)},
                                       {"clusters", list}};
  return json.dump(2) + "\n";
}

int Run(const Flags& flags) {
  std::vector<Row> rows(flags.clusters);
  std::vector<Status> failures(flags.clusters);
  const auto parallel = MakeThreadParallelFor(flags.threads);
  parallel->For(flags.clusters, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      rows[i].index = flags.first + static_cast<uint32_t>(i);
      rows[i].made = flags.transient
                         ? MakeTransientCase(flags.seed, rows[i].index, flags.steps.counted)
                         : MakePlannerCase(flags.seed, rows[i].index);
      Result<JudgedCase> judged =
          JudgeCase(rows[i].made, flags.judge, flags.steps, kHeldOut + rows[i].index);
      if (judged.ok()) {
        rows[i].judged = std::move(*judged);
      } else {
        failures[i] = judged.status();
      }
    }
  });
  for (const Status& failure : failures) {
    if (failure.ok()) continue;
    fmt::print(stderr, "motley-planner-grid: {}\n", failure.ToString());
    return 1;
  }
  const Summary summary = Summarise(rows);
  if (flags.explain) fmt::print("{}", Explain(rows));
  fmt::print("{}", flags.json ? Json(rows, summary, flags) : Text(rows, summary, flags));
  return summary.Passes(flags) ? 0 : 1;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Judges the planner over a grid of random clusters.", "motley-planner-grid");
  app.add_option("--clusters", flags.clusters, "Number of clusters")
      ->check(CLI::Range(1U, 100'000U))
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "Seed of the clusters")->capture_default_str();
  app.add_option("--threads", flags.threads, "Clusters judged in parallel")
      ->check(CLI::Range(1U, 256U))
      ->capture_default_str();
  app.add_option("--steps", flags.steps.counted, "Simulated steps that count")
      ->check(CLI::Range(8U, 100'000U))
      ->capture_default_str();
  app.add_option("--first", flags.first, "The first cluster")->capture_default_str();
  const std::map<std::string, JudgeWhat> whats = {{"planner", JudgeWhat::kPlanner},
                                                  {"auto", JudgeWhat::kAuto}};
  app.add_option("--judge", flags.judge,
                 "What the planner chooses from the profile, or a job with --code auto")
      ->transform(CLI::CheckedTransformer(whats, CLI::ignore_case));
  app.add_flag("--transient", flags.transient,
               "Whole jobs of so many --steps, on clusters with thick links whose workers are slow "
               "for a step or for phases, pause, die and come back");
  app.add_flag("--explain", flags.explain,
               "List all schemes of every cluster, predicted and true, the worst cluster first");
  app.add_option("--most-mean", flags.most_mean,
                 "Per cent over the best that are allowed on average")
      ->capture_default_str();
  app.add_option("--most-worst", flags.most_worst,
                 "Per cent over the best that are allowed for the worst cluster")
      ->capture_default_str();
  app.add_flag("--json", flags.json, "Print every cluster as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  flags.steps.skipped =
      flags.transient ? 0 : std::min(flags.steps.skipped, 2 * flags.steps.counted);
  return Run(flags);
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) { return motley::Main(argc, argv); }
