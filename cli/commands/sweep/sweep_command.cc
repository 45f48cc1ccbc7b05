// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/sweep_command.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <memory>
#include <thread>
#include <utility>

#include "api/request/parse.h"
#include "base/counted.h"
#include "base/suggest.h"
#include "cli/commands/sweep/sweep_file.h"
#include "cli/commands/sweep/sweep_log.h"
#include "cli/commands/sweep/trial_end.h"
#include "cli/commands/sweep/trial_flags.h"
#include "cli/report/svg.h"
#include "cli/report/sweep_report.h"
#include "cli/run/process.h"
#include "cli/run/signals.h"
#include "cli/terminal/error_stream.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output_file.h"
#include "cli/terminal/terminal.h"
#include "fmt/core.h"
#include "fmt/ranges.h"
#include "runtime/uv_loop.h"

namespace motley {
namespace {

constexpr int kNiceness = 10;  // Other jobs of the machine go first.
constexpr double kMostSeconds = 1e6;

class Sweep {
 public:
  Sweep(SweepPlan plan, std::string folder, Duration grace, bool quiet)
      : plan_(std::move(plan)),
        folder_(std::move(folder)),
        grace_(grace),
        quiet_(quiet),
        values_(ValuesOf(plan_.search)),
        search_(plan_.search, static_cast<uint32_t>(values_.size())) {}

  Status Open() {
    MOTLEY_ASSIGN_OR_RETURN(log_, SweepLog::Open(folder_ + "/runs.jsonl", plan_));
    for (const SweptRun& run : log_->earlier()) {
      // A search that was made shorter meanwhile.
      if (run.trial >= values_.size() || run.rung >= search_.rungs()) continue;
      const TrialSearch::Run again{run.trial, run.rung, run.epochs};
      search_.Started(again);
      search_.Ended(again, run.loss);
      runs_.push_back(run);
    }
    logged_ = runs_.size();
    RemoveLeftovers();
    MOTLEY_ASSIGN_OR_RETURN(loop_, UvLoop::Create());
    MOTLEY_ASSIGN_OR_RETURN(signals_, Signals::Open(
                                          *loop_, [this](int number) { Stop(number); },
                                          [this](int number) { SignalAll(number); }));
    free_.resize(TrialsAtOnce(plan_, std::max(1U, std::thread::hardware_concurrency())));
    for (size_t i = 0; i < free_.size(); ++i) free_[i] = free_.size() - 1 - i;
    return Status::Ok();
  }

  // Returns when all runs have ended, or after a signal or an error. If every trial is refused, the
  // fault is hardly in their values, so that is an error.
  Status Run() {
    setpriority(PRIO_PROCESS, 0, std::max(kNiceness, getpriority(PRIO_PROCESS, 0)));
    StartMore();
    if (!active_.empty()) loop_->Run();
    // All runs have ended, so a signal may now end this command at once.
    signals_.reset();
    if (killer_) loop_->Cancel(*killer_);
    if (!status_.ok() || stopped_by_ != 0 || runs_.empty() || logged_ > 0) return status_;
    const auto by_trial = [](const SweptRun& a, const SweptRun& b) { return a.trial < b.trial; };
    const SweptRun& first = *std::min_element(runs_.begin(), runs_.end(), by_trial);
    return Status::InvalidArgument(fmt::format("every trial is refused; trial {} ({}) failed: {}",
                                               first.trial, ValuesText(first), first.error));
  }

  int stopped_by() const { return stopped_by_; }
  const std::string& folder() const { return folder_; }

  SweepResult Result() const {
    SweepResult result;
    for (const TriedFlag& flag : plan_.search.flags) result.names.push_back(flag.name);
    result.runs = runs_;
    result.trials = static_cast<uint32_t>(values_.size());
    result.epochs = plan_.search.epochs;
    const std::vector<SweptRun> ranked = result.Ranked();
    if (ranked.empty() || !ranked.front().error.empty()) return result;
    const SweptRun& best = ranked.front();
    std::vector<std::string> words{"motley", "train"};
    const auto flags = FlagsOfTrial(plan_, values_[best.trial], best.epochs);
    words.insert(words.end(), flags.begin(), flags.end());
    // With several it is unknown which one it was, and any of them can do it.
    if (plan_.devices.size() == 1) words.push_back("--devices=" + plan_.devices.front());
    result.best_command = ShownCommand(words);
    result.best_model = ModelOf(best.trial);
    return result;
  }

  // The states from which trials could have gone on.
  void RemoveCheckpoints() const {
    std::error_code ignored;
    for (uint32_t trial = 0; trial < values_.size(); ++trial) {
      std::filesystem::remove_all(CheckpointOf(trial), ignored);
    }
  }

 private:
  // A run under way.
  struct Active {
    TrialSearch::Run run;
    size_t slot = 0;
    bool resumes = false;  // From the checkpoint of its earlier run.
    Time began{};
    std::string output;
    std::string last_error;
    std::unique_ptr<Process> process;
  };

  std::string ModelOf(uint32_t trial) const { return folder_ + "/" + ModelName(trial); }
  std::string CheckpointOf(uint32_t trial) const { return folder_ + "/" + CheckpointName(trial); }

  // A trial that found what was left of its checkpoint would stop again.
  Status RemoveCheckpoint(uint32_t trial) const {
    std::error_code failed;
    std::filesystem::remove_all(CheckpointOf(trial), failed);
    if (!failed) return Status::Ok();
    return Status::Resource(
        fmt::format("the checkpoint of trial {} is damaged and cannot be removed: {}: {}. Remove "
                    "it, and the same command goes on",
                    trial, CheckpointOf(trial), failed.message()));
  }

  // Files that trials had not written to their ends when they were killed.
  void RemoveLeftovers() const {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
      if (IsUnfinishedTrialFile(entry.path().filename().string())) {
        std::filesystem::remove(entry.path(), ignored);
      }
    }
  }

  std::vector<std::string> CommandOf(const Active& active) const {
    const TrialSearch::Run& run = active.run;
    std::vector<std::string> words{ThisProgram(), "train"};
    const auto flags = FlagsOfTrial(plan_, values_[run.trial], run.epochs);
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--json", "--quiet", "--out=" + ModelOf(run.trial)});
    if (!plan_.devices.empty()) {
      words.push_back("--devices=" + plan_.devices[active.slot % plan_.devices.size()]);
    }
    if (search_.rungs() > 1) words.push_back("--checkpoint=" + CheckpointOf(run.trial));
    if (active.resumes) words.push_back("--resume=" + CheckpointOf(run.trial));
    return words;
  }

  void StartMore() {
    while (stopped_by_ == 0 && status_.ok() && !free_.empty()) {
      const auto next = search_.Next();
      if (!next) break;
      search_.Started(*next);
      Start(*next);
    }
    if (active_.empty()) loop_->Stop();
  }

  void Start(const TrialSearch::Run& run) {
    std::error_code ignored;
    const std::string checkpoint = CheckpointOf(run.trial);
    if (run.rung == 0) std::filesystem::remove_all(checkpoint, ignored);
    Active& active = active_.emplace_back();
    active.run = run;
    // A sweep that was done has removed it. If more trials follow, this one begins anew.
    active.resumes = run.rung > 0 && std::filesystem::exists(checkpoint, ignored);
    active.slot = free_.back();
    active.began = loop_->Now();
    ProcessOptions options;
    options.command = CommandOf(active);
    options.environment = EnvironmentWith({});
    options.line = [&active](std::string_view line, bool error) {
      if (!error) {
        active.output.append(line).append("\n");
      } else if (!line.empty()) {
        active.last_error = line;
      }
    };
    auto process = Process::Start(*loop_, options, [this, &active](const ProcessExit& exit) {
      loop_->Post([this, &active, exit] { OnEnd(active, exit); });
    });
    if (!process.ok()) {
      active_.pop_back();
      return Fail(process.status());
    }
    active.process = *std::move(process);
    free_.pop_back();
  }

  void OnEnd(Active& active, const ProcessExit& exit) {
    std::list<Active> ended;
    const auto it = std::find_if(active_.begin(), active_.end(),
                                 [&active](const Active& each) { return &each == &active; });
    ended.splice(ended.end(), active_, it);
    free_.push_back(active.slot);
    Judge(active, exit);
    StartMore();
  }

  void Judge(const Active& active, const ProcessExit& exit) {
    const TrialEnd end = EndOfTrial(exit, active.output, active.last_error);
    SweptRun run{.trial = active.run.trial,
                 .rung = active.run.rung,
                 .epochs = active.run.epochs,
                 .values = values_[active.run.trial],
                 .loss = end.loss,
                 .test_loss = end.test_loss,
                 .test_accuracy = end.test_accuracy,
                 .seconds = ToSeconds(loop_->Now() - active.began),
                 .error = end.error};
    if (ending()) {
      // It was done before it was asked to end. Anything else may come from that.
      if (end.verdict == TrialVerdict::kTrained && end.whole) Record(active.run, run, false);
      return;
    }
    if (active.resumes && end.lost_checkpoint) {
      if (Status removed = RemoveCheckpoint(run.trial); !removed.ok()) {
        return Fail(std::move(removed));
      }
      return Start(active.run);  // Anew.
    }
    if (end.verdict != TrialVerdict::kDisturbed) {
      return Record(active.run, run, end.verdict == TrialVerdict::kRefused);
    }
    Fail(ErrorOfSweep(
        exit, fmt::format("trial {} ({}) failed: {}; once this is mended, the same command trains "
                          "it again, and goes on from there",
                          run.trial, ValuesText(run), run.error)));
  }

  // Refused runs are recorded once another trial has got further than they.
  void Record(const TrialSearch::Run& of, const SweptRun& run, bool refused) {
    search_.Ended(of, run.loss);
    runs_.push_back(run);
    if (!refused || logged_ > 0) {
      while (logged_ < runs_.size()) {
        if (Status added = log_->Add(runs_[logged_]); !added.ok()) return Fail(std::move(added));
        ++logged_;
      }
    }
    if (!quiet_) Say(run);
  }

  std::string ValuesText(const SweptRun& run) const {
    std::vector<std::string> words;
    for (size_t i = 0; i < run.values.size(); ++i) {
      words.push_back(plan_.search.flags[i].name + " " + run.values[i]);
    }
    return fmt::format("{}", fmt::join(words, ", "));
  }

  void Say(const SweptRun& run) const {
    const std::string how = run.error.empty() ? fmt::format("loss {:.5g} after {}", run.loss,
                                                            Counted(run.epochs, "epoch"))
                                              : "failed: " + run.error;
    WriteToErrorStream(fmt::format("trial {}, {}: {} ({} of at least {} runs)\n", run.trial,
                                   ValuesText(run), how, runs_.size(), search_.known_runs()));
  }

  bool ending() const { return stopped_by_ != 0 || !status_.ok(); }

  void Stop(int number) {
    if (std::exchange(stopped_by_, number) != 0) return SignalAll(SIGKILL);
    if (!quiet_) {
      Warn(
          fmt::format("stopping {}; the same command goes on later. A second Ctrl-C ends the "
                      "trials at once",
                      UnderWay()));
    }
    EndTrials();
  }

  // The sweep ends with this error, unless it has one already.
  void Fail(Status why) {
    if (status_.ok()) status_ = std::move(why);
    if (active_.empty() || killer_) return;
    if (!quiet_) {
      Warn(fmt::format("an error ends the sweep; waiting for {}, at most {:.3g} s (--grace)",
                       UnderWay(), ToSeconds(grace_)));
    }
    EndTrials();
  }

  // Asks the trials under way to end, and kills those that do not.
  void EndTrials() {
    if (killer_) return;  // A second SIGTERM would keep them from saving anything.
    SignalAll(SIGTERM);
    killer_ = loop_->After(grace_, [this] {
      Warn(fmt::format("{} still {} {:.3g} s after SIGTERM (--grace), and {} killed", UnderWay(),
                       active_.size() == 1 ? "runs" : "run", ToSeconds(grace_),
                       active_.size() == 1 ? "is" : "are"));
      SignalAll(SIGKILL);
    });
  }

  // "trial 3", "trials 3, 5"
  std::string UnderWay() const {
    std::vector<uint32_t> trials;
    for (const Active& active : active_) trials.push_back(active.run.trial);
    return fmt::format("trial{} {}", trials.size() == 1 ? "" : "s", fmt::join(trials, ", "));
  }

  void SignalAll(int number) {
    for (const Active& active : active_) active.process->Signal(number);
  }

  const SweepPlan plan_;
  const std::string folder_;
  const Duration grace_;  // From SIGTERM to SIGKILL.
  const bool quiet_;
  const std::vector<TrialValues> values_;  // By trial.
  TrialSearch search_;
  std::unique_ptr<SweepLog> log_;
  std::unique_ptr<UvLoop> loop_;
  std::unique_ptr<Signals> signals_;
  std::list<Active> active_;
  std::vector<size_t> free_;  // Slots.
  std::vector<SweptRun> runs_;
  size_t logged_ = 0;   // So many of them are in the log.
  int stopped_by_ = 0;  // The signal; 0: none.
  Status status_;
  std::optional<TimerId> killer_;  // Kills trials that do not end.
};

Status CreateFolder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!failed) return Status::Ok();
  return Status::Resource(fmt::format("--out {}: {}", folder, failed.message()));
}

// Finds misspelt flags before any trial begins.
Status CheckNames(const SweepPlan& plan, const std::string& file,
                  const std::vector<std::string>& known) {
  const auto check = [&](const char* table, const std::string& name) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return Status::Ok();
    const std::string close = Suggest(name, known);
    return Status::InvalidArgument(
        fmt::format("{}: '{}' in [{}] is no flag of motley train.{} See motley train --help", file,
                    name, table, close.empty() ? "" : fmt::format(" Did you mean '{}'?", close)));
  };
  for (const auto& [name, value] : plan.train) MOTLEY_RETURN_IF_ERROR(check("train", name));
  for (const TriedFlag& flag : plan.search.flags) {
    MOTLEY_RETURN_IF_ERROR(check("try", flag.name));
  }
  return Status::Ok();
}

Result<int> Run(const SweepFlags& flags) {
  MOTLEY_RETURN_IF_ERROR(CheckSvgName("--plot", flags.plot));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--plot", flags.plot, "the search", flags.file));
  MOTLEY_ASSIGN_OR_RETURN(const Duration grace,
                          ParseDuration("--grace", flags.grace, kMostSeconds));
  MOTLEY_ASSIGN_OR_RETURN(SweepPlan plan, LoadSweep(flags.file));
  MOTLEY_RETURN_IF_ERROR(CheckNames(plan, flags.file, flags.train_flags()));
  std::string folder = flags.out;
  if (folder.empty()) {
    folder = std::filesystem::path(flags.file).replace_extension(".out").string();
  }
  MOTLEY_RETURN_IF_ERROR(CreateFolder(folder));
  MOTLEY_RETURN_IF_ERROR(CheckReplaced("--plot", flags.plot));  // It may be in that folder.
  Sweep sweep(std::move(plan), folder, grace, flags.quiet);
  MOTLEY_RETURN_IF_ERROR(sweep.Open());
  MOTLEY_RETURN_IF_ERROR(sweep.Run());
  if (sweep.stopped_by() != 0) return 128 + sweep.stopped_by();
  const SweepResult result = sweep.Result();
  sweep.RemoveCheckpoints();
  const int code = PrintResult(flags.json ? SweepJson(result)
                                          : SweepTable(result, TerminalColumns(STDOUT_FILENO)));
  if (!flags.plot.empty()) MOTLEY_RETURN_IF_ERROR(WriteFile(flags.plot, SweepSvg(result)));
  return code != kExitOk || !result.best_command.empty() ? code : kExitFailure;
}

}  // namespace

int RunSweep(const SweepFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
