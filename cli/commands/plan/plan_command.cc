// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/plan/plan_command.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "cli/terminal/error_stream.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "fmt/core.h"

namespace motley {
namespace {

// Shows the progress of a plan that takes longer than a second: a line that is redrawn in place in
// a terminal, elsewhere a line at intervals.
class PlanProgress {
 public:
  explicit PlanProgress(bool quiet) : style_(ChooseProgressStyle(quiet)) {
    if (style_ == ProgressStyle::kOff) return;
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error&) {  // Without a thread there is no progress line.
    }
  }
  ~PlanProgress() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  PlanProgress(const PlanProgress&) = delete;
  PlanProgress& operator=(const PlanProgress&) = delete;

  void Tell(size_t done, size_t all) {
    const std::lock_guard lock(mutex_);
    done_ = done;
    all_ = all;
  }

 private:
  static constexpr std::chrono::milliseconds kQuiet{1000}, kRedraw{250}, kLines{10'000};

  void Run() {
    const bool terminal = style_ != ProgressStyle::kLines;
    const auto started = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    for (auto wait = kQuiet; !changed_.wait_for(lock, wait, [this] { return ended_; });) {
      wait = terminal ? kRedraw : kLines;
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
      std::string text = all_ == 0 ? "trying schemes on the step model"
                                   : fmt::format("simulated {} of {} schemes", done_, all_);
      text += fmt::format(", {:.0f} s so far", elapsed.count());
      const size_t columns = TerminalColumns(STDERR_FILENO);
      if (terminal && columns > 0) text.resize(std::min(text.size(), columns - 1));
      WriteToErrorStream(terminal ? "\r\x1b[K" + text : "plan: " + text + "\n");
      drawn_ = terminal;
    }
    if (drawn_) WriteToErrorStream("\r\x1b[K");
  }

  const ProgressStyle style_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t done_ = 0, all_ = 0;
  bool ended_ = false;
  bool drawn_ = false;  // A line in a terminal must be erased before other output.
};

Result<PlanReport> MakeReport(const PlanFlags& flags) {
  MOTLEY_ASSIGN_OR_RETURN(const ClusterProfile profile, LoadClusterProfile(flags.cluster));
  PlanProgress progress(flags.quiet);
  const auto parallel = MakeThreadParallelFor(std::max(1U, std::thread::hardware_concurrency()));
  return MakePlanReport(flags, profile, *parallel,
                        [&](size_t done, size_t all) { progress.Tell(done, all); });
}

Result<int> Run(const PlanFlags& flags) {
  MOTLEY_ASSIGN_OR_RETURN(const PlanReport report, MakeReport(flags));
  return PrintResult(flags.json ? PlanJson(report)
                                : PlanText(report, flags.explain, TerminalColumns(STDOUT_FILENO)));
}

}  // namespace

int RunPlan(const PlanFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
