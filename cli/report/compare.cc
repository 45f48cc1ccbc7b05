// SPDX-License-Identifier: Apache-2.0
#include "cli/report/compare.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "api/reports/job_report.h"
#include "base/counted.h"
#include "cli/report/chart.h"
#include "cli/report/table.h"
#include "cli/terminal/terminal.h"
#include "coding/schemes.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

// Student's t by degrees of freedom, from 1: one case in twenty lies beyond it.
constexpr std::array<double, 30> kStudent = {
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

std::string Ms(double seconds) {
  const double ms = seconds * 1e3;
  return fmt::format("{:.{}f}", ms, ms >= 100 ? 1 : ms >= 1 ? 2 : 4);
}

Result<ComparedCode> ParseOne(std::string_view text) {
  const size_t colon = text.find(':');
  ComparedCode one;
  one.code = text.substr(0, colon);
  if (one.code.empty()) {
    return Status::InvalidArgument("--compare: a code is missing. Type it like none,adaptive");
  }
  if (colon == std::string_view::npos) return one;
  const std::string_view number = text.substr(colon + 1);
  uint32_t tolerate = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), tolerate);
  if (error != std::errc() || end != number.data() + number.size()) {
    return Status::InvalidArgument(fmt::format(
        "--compare {}: after the colon write how many workers may be missing, like {}:2", text,
        one.code));
  }
  if (!SchemeNamed(one.code).keeps_copies && tolerate > 0) {
    return Status::InvalidArgument(fmt::format(
        "--compare {}: none keeps no copies, so it tolerates no missing worker. Write none, or "
        "adaptive:{}",
        text, tolerate));
  }
  one.tolerate = tolerate;
  return one;
}

double RatioOf(const ComparedRun& run, const ComparedRun& baseline) {
  const double base = baseline.MeanSeconds();
  return base > 0 ? run.MeanSeconds() / base : 0;
}

}  // namespace

Result<std::vector<ComparedCode>> ParseCompared(std::string_view text) {
  std::vector<ComparedCode> codes;
  for (;;) {
    const size_t comma = text.find(',');
    MOTLEY_ASSIGN_OR_RETURN(ComparedCode one, ParseOne(text.substr(0, comma)));
    for (const ComparedCode& before : codes) {
      if (before.code != one.code || before.tolerate != one.tolerate) continue;
      return Status::InvalidArgument(fmt::format("--compare: {} is given twice", one.code));
    }
    codes.push_back(std::move(one));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (codes.size() >= 2) return codes;
  return Status::InvalidArgument(fmt::format(
      "--compare {}: name at least two codes, like none,{}. For one alone use --code {}",
      codes.front().code,
      !SchemeNamed(codes.front().code).keeps_copies ? "adaptive" : codes.front().code,
      codes.front().code));
}

double ComparedRun::MeanSeconds() const { return Mean(step_seconds); }

std::optional<Interval> MeanInterval(const std::vector<double>& seed_means) {
  const size_t n = seed_means.size();
  if (n < 2) return std::nullopt;
  const double mean = Mean(seed_means);
  double squares = 0;
  for (const double each : seed_means) squares += (each - mean) * (each - mean);
  const double t = kStudent[std::min(n - 2, kStudent.size() - 1)];
  const auto count = static_cast<double>(n);
  const double half = t * std::sqrt(squares / (count - 1) / count);
  return Interval{mean - half, mean + half};
}

std::string CompareTable(const Comparison& comparison, size_t columns) {
  const ComparedRun& baseline = comparison.runs.front();
  const bool intervals = baseline.seed_means.size() > 1;
  Table table({"code", "mean ms", "95 % interval", "p99 ms", "vs " + baseline.name, "vs ideal"});
  for (const ComparedRun& run : comparison.runs) {
    const auto interval = MeanInterval(run.seed_means);
    const double mean = run.MeanSeconds();
    table.Add({run.name, Ms(mean),
               interval ? fmt::format("{} to {}", Ms(interval->low), Ms(interval->high)) : "-",
               Ms(Quantile(run.step_seconds, 0.99)), fmt::format("{:.2f}", RatioOf(run, baseline)),
               comparison.ideal_seconds > 0 ? fmt::format("{:.2f}", mean / comparison.ideal_seconds)
                                            : "-"});
  }
  const size_t seeds = baseline.seed_means.size();
  table.Fit(columns, {"vs ideal", "p99 ms", "95 % interval"});
  std::string text;
  text += fmt::format("\n{}: {}, {}; ideal {} ms\n", comparison.cluster,
                      Counted(comparison.steps, "step"), Counted(seeds, "seed"),
                      Ms(comparison.ideal_seconds));
  if (comparison.counted_from > 0) {
    text += fmt::format("steps count from step {} on; before that, a job learns speeds and links\n",
                        comparison.counted_from);
  }
  if (!intervals) text += "one seed has no interval: add --seeds 5\n";
  for (const ComparedRun& run : comparison.runs) {
    if (run.discarded_steps == 0) continue;
    text += fmt::format("{}: {} {} discarded\n", run.name, Counted(run.discarded_steps, "step"),
                        run.discarded_steps == 1 ? "was" : "were");
  }
  for (const ComparedRun& run : comparison.runs) {
    if (run.tolerate_at_end < run.tolerate) {
      text += fmt::format("{}: asked to tolerate {}, its plan tolerates {} at the end\n", run.name,
                          run.tolerate, run.tolerate_at_end);
    }
    text += run.note;
  }
  return table.Format() + WrapText(text, columns);
}

std::string CompareJson(const Comparison& comparison) {
  const ComparedRun& baseline = comparison.runs.front();
  auto codes = nlohmann::ordered_json::array();
  for (const ComparedRun& run : comparison.runs) {
    nlohmann::ordered_json step = {{"mean", run.MeanSeconds()}};
    if (const auto interval = MeanInterval(run.seed_means)) {
      step["low"] = interval->low;
      step["high"] = interval->high;
    }
    step["p99"] = Quantile(run.step_seconds, 0.99);
    codes.push_back({{"code", run.code},
                     {"tolerate", run.tolerate},
                     {"tolerate_at_end", run.tolerate_at_end},
                     {"exact", SchemeNamed(run.code).exact},
                     {"step_seconds", step},
                     {"ratio", RatioOf(run, baseline)},
                     {"seed_means", run.seed_means},
                     {"discarded_steps", run.discarded_steps}});
  }
  const nlohmann::ordered_json json = {{"cluster", comparison.cluster},
                                       {"baseline", baseline.code},
                                       {"steps", comparison.steps},
                                       {"counted_from", comparison.counted_from},
                                       {"seeds", baseline.seed_means.size()},
                                       {"ideal_seconds", comparison.ideal_seconds},
                                       {"codes", codes}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string CompareSvg(const Comparison& comparison) {
  std::vector<ChartSeries> series;
  for (const ComparedRun& run : comparison.runs) {
    ChartSeries one = {.name = run.name, .mean = run.MeanSeconds()};
    if (const auto interval = MeanInterval(run.seed_means)) {
      one.low = interval->low;
      one.high = interval->high;
    }
    one.step_seconds = run.step_seconds;
    series.push_back(std::move(one));
  }
  const size_t seeds = comparison.runs.front().seed_means.size();
  const std::string title = fmt::format("{}: {} of {}", comparison.cluster,
                                        Counted(comparison.steps, "step"), Counted(seeds, "seed"));
  return ChartSvg(title, series, comparison.ideal_seconds);
}

}  // namespace motley
