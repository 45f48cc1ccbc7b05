// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/sweep_command.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <list>
#include <memory>
#include <thread>
#include <utility>

#include "base/counted.h"
#include "cli/commands/sweep/sweep_file.h"
#include "cli/commands/sweep/sweep_log.h"
#include "cli/commands/sweep/trial_end.h"
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
constexpr uint32_t kDigits = 4;

uint32_t Given(const SweepPlan& plan, std::string_view flag, uint32_t otherwise) {
  const std::string text = plan.Train(flag);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && number > 0 ? number : otherwise;
}

// One trial for each device, or as many as the processor has room for.
uint32_t AtOnce(const SweepPlan& plan) {
  if (plan.at_once > 0) return plan.at_once;
  if (!plan.devices.empty()) return static_cast<uint32_t>(plan.devices.size());
  const uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
  return std::max(1U, cores / (Given(plan, "workers", 1) * Given(plan, "threads", 1)));
}

std::string FlagText(const std::string& flag, const std::string& value) {
  return value.empty() ? "--" + flag : fmt::format("--{}={}", flag, value);
}

std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Quoted for a shell where that is needed.
std::string Shown(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain = word.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789-_=./:,@+%") == std::string::npos;
    text += text.empty() ? "" : " ";
    text += plain ? word : Quoted(word);
  }
  return text;
}

class Sweep {
 public:
  Sweep(SweepPlan plan, std::string folder, bool quiet)
      : plan_(std::move(plan)),
        folder_(std::move(folder)),
        quiet_(quiet),
        values_(ValuesOf(plan_.search)),
        search_(plan_.search, static_cast<uint32_t>(values_.size())) {}

  Status Open() {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed) {
      return Status::Resource(fmt::format("--out {}: {}", folder_, failed.message()));
    }
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
    MOTLEY_ASSIGN_OR_RETURN(signals_, Signals::Open(*loop_, [this](int number) { Stop(number); }));
    free_.resize(AtOnce(plan_));
    for (size_t i = 0; i < free_.size(); ++i) free_[i] = free_.size() - 1 - i;
    return Status::Ok();
  }

  // Returns when all runs have ended, or after a signal or an error. If every trial is refused, the
  // fault is hardly in their values, so that is an error.
  Status Run() {
    setpriority(PRIO_PROCESS, 0, std::max(kNiceness, getpriority(PRIO_PROCESS, 0)));
    StartMore();
    if (!active_.empty()) loop_->Run();
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
    AddFlags(best.trial, best.epochs, words);
    // With several it is unknown which one it was, and any of them can do it.
    if (plan_.devices.size() == 1) words.push_back("--devices=" + plan_.devices.front());
    result.best_command = Shown(words);
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

  std::string PathOf(uint32_t trial, const char* end) const {
    return fmt::format("{}/trial-{:0{}}{}", folder_, trial, kDigits, end);
  }
  std::string ModelOf(uint32_t trial) const { return PathOf(trial, ".safetensors"); }
  std::string CheckpointOf(uint32_t trial) const { return PathOf(trial, ".checkpoint"); }

  // Files that trials had not written to their ends when they were killed.
  void RemoveLeftovers() const {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("trial-") && name.ends_with(".tmp")) {
        std::filesystem::remove(entry.path(), ignored);
      }
    }
  }

  // All flags that the trained model depends on.
  void AddFlags(uint32_t trial, uint32_t epochs, std::vector<std::string>& words) const {
    for (const auto& [flag, value] : plan_.train) words.push_back(FlagText(flag, value));
    for (size_t i = 0; i < values_[trial].size(); ++i) {
      words.push_back(FlagText(plan_.search.flags[i].name, values_[trial][i]));
    }
    for (const char* flag : {"workers", "threads"}) {
      const bool device = flag == std::string_view("threads") && !plan_.devices.empty();
      if (!Has(flag) && !device) words.push_back(FlagText(flag, "1"));
    }
    words.push_back(fmt::format("--epochs={}", epochs));
    words.push_back("--evaluate-every=1epoch");
    // Keeps the best version. No trial has so many judgements, so none ends early.
    if (!Has("patience")) words.push_back(fmt::format("--patience={}", plan_.search.epochs + 1));
  }

  bool Has(std::string_view flag) const {
    const auto tried = [flag](const TriedFlag& each) { return each.name == flag; };
    const std::vector<TriedFlag>& flags = plan_.search.flags;
    return !plan_.Train(flag).empty() || std::any_of(flags.begin(), flags.end(), tried);
  }

  std::vector<std::string> CommandOf(const Active& active) const {
    const TrialSearch::Run& run = active.run;
    std::vector<std::string> words{ThisProgram(), "train"};
    AddFlags(run.trial, run.epochs, words);
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
      status_ = process.status();
      active_.pop_back();
      return StopAll(SIGTERM);
    }
    active.process = *std::move(process);
    free_.pop_back();
  }

  void OnEnd(Active& active, const ProcessExit& exit) {
    free_.push_back(active.slot);
    if (stopped_by_ == 0 && status_.ok()) Judge(active, exit);
    active_.remove_if([&active](const Active& each) { return &each == &active; });
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
    if (active.resumes && !end.began && end.error.find("checkpoint") != end.error.npos) {
      std::error_code ignored;
      std::filesystem::remove_all(CheckpointOf(run.trial), ignored);
      return Start(active.run);  // Anew.
    }
    if (end.verdict != TrialVerdict::kDisturbed) {
      return Record(active.run, run, end.verdict == TrialVerdict::kRefused);
    }
    status_ = ErrorOfSweep(
        exit, fmt::format("trial {} ({}) failed: {}; once this is mended, the same command trains "
                          "it again, and goes on from there",
                          run.trial, ValuesText(run), run.error));
    StopAll(SIGTERM);
  }

  // Refused runs are recorded once another trial has got further than they.
  void Record(const TrialSearch::Run& of, const SweptRun& run, bool refused) {
    search_.Ended(of, run.loss);
    runs_.push_back(run);
    if (!refused || logged_ > 0) {
      while (status_.ok() && logged_ < runs_.size()) status_ = log_->Add(runs_[logged_++]);
    }
    if (!status_.ok()) return StopAll(SIGTERM);
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

  void Stop(int number) {
    const bool again = stopped_by_ != 0;
    stopped_by_ = number;
    if (!again && !quiet_) {
      Warn("stopping; the same command goes on later. A second Ctrl-C ends the trials at once");
    }
    StopAll(again ? SIGKILL : SIGTERM);
    if (active_.empty()) loop_->Stop();
  }
  void StopAll(int number) {
    for (const Active& active : active_) active.process->Signal(number);
  }

  const SweepPlan plan_;
  const std::string folder_;
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
};

Result<int> Run(const SweepFlags& flags) {
  MOTLEY_RETURN_IF_ERROR(CheckSvgName("--plot", flags.plot));
  MOTLEY_RETURN_IF_ERROR(CheckWritable("--plot", flags.plot));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--plot", flags.plot, "the search", flags.file));
  MOTLEY_ASSIGN_OR_RETURN(SweepPlan plan, LoadSweep(flags.file));
  std::string folder = flags.out;
  if (folder.empty()) {
    folder = std::filesystem::path(flags.file).replace_extension(".out").string();
  }
  Sweep sweep(std::move(plan), folder, flags.quiet);
  MOTLEY_RETURN_IF_ERROR(sweep.Open());
  MOTLEY_RETURN_IF_ERROR(sweep.Run());
  if (sweep.stopped_by() != 0) return 128 + sweep.stopped_by();
  const SweepResult result = sweep.Result();
  sweep.RemoveCheckpoints();
  if (!flags.plot.empty()) MOTLEY_RETURN_IF_ERROR(WriteFile(flags.plot, SweepSvg(result)));
  const int code = PrintResult(flags.json ? SweepJson(result)
                                          : SweepTable(result, TerminalColumns(STDOUT_FILENO)));
  return code != kExitOk || !result.best_command.empty() ? code : kExitFailure;
}

}  // namespace

int RunSweep(const SweepFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
