// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/compare/compare_command.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "api/request/chosen_defaults.h"
#include "api/request/job_plan.h"
#include "api/request/job_request.h"
#include "api/request/sync_plan.h"
#include "api/request/train_data.h"
#include "base/text.h"
#include "cli/commands/compare/sync_trials.h"
#include "cli/report/svg.h"
#include "cli/report/sync_report.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output_file.h"
#include "cli/terminal/terminal.h"
#include "fmt/core.h"
#include "fmt/ranges.h"
#include "runtime/coordinator/server_node.h"
#include "scheduler/placement/reduction.h"
#include "scheduler/sync/sync_mode.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

std::vector<std::string> CutAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

Result<std::vector<std::string>> ReadModes(const std::string& text) {
  std::vector<std::string> modes;
  for (const std::string& each : CutAtCommas(text)) {
    // dssp:1,4 has a comma of its own, after which no mode can begin.
    const bool continues = !each.empty() && each.front() >= '0' && each.front() <= '9';
    if (continues && !modes.empty()) {
      modes.back() += "," + each;
    } else {
      modes.push_back(each);
    }
  }
  std::set<std::string> seen;
  for (const std::string& each : modes) {
    if (each.empty()) {
      return Status::InvalidArgument(fmt::format(
          "--sync '{}': a mode is missing. Write modes with commas between them, like bsp,asp",
          text));
    }
    MOTLEY_RETURN_IF_ERROR(ParseSyncMode(each).status());
    if (!seen.insert(each).second) {
      return Status::InvalidArgument(fmt::format("--sync {}: {} is given twice", text, each));
    }
  }
  return modes;
}

// Leaves out the modes that do not go with the optimizer, or with shards outside the server, with a
// notice.
void LeaveOutUnfit(const JobFlags& flags, std::vector<std::string>& modes) {
  const Result<ReduceMode> reduce = ParseReduce(flags.reduce);
  const bool elsewhere = reduce.ok() && (reduce->kind == Reduce::kDirect || reduce->servers > 0);
  std::erase_if(modes, [&](const std::string& mode) {
    JobOptions job;
    job.sync = *ParseSyncMode(mode);
    job.optimizer.name = flags.optimizer;
    job.audit_fraction = 0;
    if (elsewhere) job.holders = JobOptions::Holders::kWorkers;
    const Status fits = job.sync.one_each ? CheckOwnUpdates(job) : Status::Ok();
    if (!fits.ok()) Warn(fmt::format("leaving {} out: {}", mode, fits.ToString()));
    return !fits.ok();
  });
}

// The modes that can have `staleness`. If none can, they are all named, and are then refused with
// the reason.
std::vector<std::string> StaleModes(const std::string& staleness,
                                    const std::vector<std::string>& modes) {
  std::vector<std::string> stale;
  const bool known = staleness == "rate" || staleness == "gap";
  std::copy_if(modes.begin(), modes.end(), std::back_inserter(stale), [&](const std::string& mode) {
    return !known || TakesStaleness(*ParseSyncMode(mode));
  });
  return stale.empty() ? modes : stale;
}

Result<std::vector<double>> ReadRates(const CompareFlags& flags) {
  if (flags.rates.empty()) return std::vector<double>{flags.job.options.learning_rate};
  std::vector<double> rates;
  for (const std::string& each : CutAtCommas(flags.rates)) {
    double rate = 0;
    const auto [end, error] = std::from_chars(each.data(), each.data() + each.size(), rate);
    const bool possible = rate <= kLargestOption && static_cast<float>(rate) > 0;
    if (error != std::errc() || end != each.data() + each.size() || !possible) {
      return Status::InvalidArgument(
          fmt::format("--rates {}: '{}' is not a learning rate. Write numbers above 0 and at most "
                      "{:g}, like 0.1,0.03",
                      flags.rates, each, kLargestOption));
    }
    if (std::find(rates.begin(), rates.end(), rate) != rates.end()) {
      return Status::InvalidArgument(
          fmt::format("--rates {}: {} is given twice", flags.rates, each));
    }
    rates.push_back(rate);
  }
  return rates;
}

// The test samples are those that each version is evaluated on.
Result<PreparedData> ReadData(const CompareFlags& flags) {
  motley_job_options options = OptionsOf(flags.job, "");
  options.task = flags.task.c_str();
  MOTLEY_ASSIGN_OR_RETURN(const JobRequest given, ReadJobOptions(options));
  DataRequest request;
  request.spec = flags.data;
  request.task = given.task;
  request.label = flags.label;
  request.model = flags.job.model;
  request.seed = flags.job.options.seed;
  MOTLEY_ASSIGN_OR_RETURN(PreparedData data, PrepareTrainingData(request));
  for (const std::string& note : data.notes) Warn(note);
  return data;
}

Result<SyncTarget> TargetFrom(const CompareFlags& flags, bool classes) {
  if (flags.accuracy > 0 && !classes) {
    return Status::InvalidArgument(
        "--target-accuracy: labels are real numbers, which have no accuracy. Use --target-loss");
  }
  if (flags.accuracy > 0) return SyncTarget{true, flags.accuracy};
  return SyncTarget{false, flags.loss};
}

// Keeps the best rate of each mode on each cluster, in the order of the trials.
std::vector<SyncTrial> BestRates(std::vector<SyncTrial> trials, const SyncTarget& target) {
  std::vector<SyncTrial> best;
  for (SyncTrial& trial : trials) {
    if (best.empty() || best.back().sync != trial.sync || best.back().cluster != trial.cluster) {
      best.push_back(std::move(trial));
    } else if (trial.BetterThan(best.back(), target)) {
      best.back() = std::move(trial);
    }
  }
  return best;
}

std::string JobText(const CompareFlags& flags, const TrialsRequest& request) {
  const motley_job_options& options = flags.job.options;
  // Without ":test=FILE" and the like.
  const std::string path = flags.data.substr(0, flags.data.find(':'));
  const std::string file = std::filesystem::path(path).filename().string();
  const std::string length = options.steps > 0 ? fmt::format("{} updates", options.steps)
                                               : fmt::format("{} epochs", options.epochs);
  return fmt::format("{}, {}, {}, batch {}, {}", file.empty() ? flags.data : file,
                     request.flags.job.model, flags.job.optimizer, options.batch, length);
}

std::string StaleText(const TrialsRequest& request) {
  const std::string& staleness = request.flags.job.staleness;
  if (staleness == JobFlags().staleness) return "";
  return fmt::format("--staleness {}: {}", staleness, fmt::join(request.stale_modes, ", "));
}

Status CheckOutputs(const CompareFlags& flags) {
  MOTLEY_RETURN_IF_ERROR(CheckSvgName("--plot", flags.plot));
  MOTLEY_RETURN_IF_ERROR(CheckReplaced("--plot", flags.plot));
  return CheckApartFromData("--plot", flags.plot, flags.data);
}

Result<TrialsRequest> RequestFrom(const CompareFlags& flags, const PreparedData& data) {
  TrialsRequest request;
  MOTLEY_ASSIGN_OR_RETURN(request.modes, ReadModes(flags.sync));
  const bool known = FindOptimizerRule(flags.job.optimizer) != nullptr;
  if (!flags.sync_given && known) LeaveOutUnfit(flags.job, request.modes);
  request.stale_modes = StaleModes(flags.job.staleness, request.modes);
  MOTLEY_ASSIGN_OR_RETURN(request.rates, ReadRates(flags));
  const DataShape shape = data.train->shape();
  request.flags.job = flags.job;
  if (flags.job.model.empty()) request.flags.job.model = shape.classes == 0 ? "linear" : "softmax";
  request.clusters = flags.clusters;
  if (request.clusters.empty()) request.clusters.emplace_back();
  request.seeds = flags.seeds;
  if (!flags.evaluate_every.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const StepInterval every, ParseInterval(flags.evaluate_every));
    request.evaluate_steps = every.steps;
    request.evaluate_epochs = every.epochs;
  }
  MOTLEY_ASSIGN_OR_RETURN(request.train, data.train->Range(0, shape.rows));
  request.test = data.test;
  return request;
}

Result<int> Run(const CompareFlags& flags) {
  MOTLEY_RETURN_IF_ERROR(CheckOutputs(flags));
  MOTLEY_RETURN_IF_ERROR(ReadModes(flags.sync).status());
  MOTLEY_RETURN_IF_ERROR(ReadRates(flags).status());
  MOTLEY_ASSIGN_OR_RETURN(const PreparedData data, ReadData(flags));
  const bool classes = data.train->shape().classes > 0;
  MOTLEY_ASSIGN_OR_RETURN(const SyncTarget given, TargetFrom(flags, classes));
  MOTLEY_ASSIGN_OR_RETURN(const TrialsRequest request, RequestFrom(flags, data));
  MOTLEY_ASSIGN_OR_RETURN(std::vector<SyncTrial> trials, RunTrials(request));
  SyncComparison comparison;
  comparison.job = JobText(flags, request);
  comparison.staleness = StaleText(request);
  comparison.target = given;
  if (!(given.value > 0)) {
    MOTLEY_ASSIGN_OR_RETURN(comparison.target, DefaultTarget(trials, classes));
  }
  comparison.trials = BestRates(std::move(trials), comparison.target);
  const int code =
      PrintResult(flags.job.json ? SyncJson(comparison)
                                 : SyncTable(comparison, TerminalColumns(STDOUT_FILENO)));
  if (!flags.plot.empty()) MOTLEY_RETURN_IF_ERROR(WriteFile(flags.plot, SyncSvg(comparison)));
  return code;
}

}  // namespace

int RunCompare(const CompareFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
