// SPDX-License-Identifier: Apache-2.0
// Shows a job's progress on stderr. In a terminal it is a bar that is redrawn in place, with a
// table of workers on request. Otherwise it is a plain line for every tenth of the job, or every
// ten seconds. So are checkpoints, and the last one always.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal/live_workers.h"
#include "motley/motley.h"

namespace motley {

enum class ProgressStyle { kOff, kLines, kBar, kColourBar };

// Checks whether stderr is a terminal, and looks at TERM=dumb and NO_COLOR.
ProgressStyle ChooseProgressStyle(bool quiet);

struct ProgressState {
  uint64_t step = 0;
  uint64_t first_step = 0;  // Steps before it were done in an earlier run.
  uint64_t steps = 1;
  double epoch = 0;
  double loss = 0;
  double elapsed_seconds = 0;
  uint32_t workers_there = 0;  // Joined and not lost.
  uint32_t workers_late = 0;   // MOTLEY_WORKER_LATE, of those that are there.
  uint32_t workers = 0;
  uint64_t safe = 0;  // Steps in the newest checkpoint.
  bool most = false;  // True if the job may end before `steps`.
};

// One line without its end: " 45 %|████    | 230/512, 00:09 left, loss 0.4317, 4/4 up". It is
// shorter than `columns` if the step numbers fit into these. 0 columns mean 80.
std::string FormatBar(const ProgressState& state, size_t columns = 0);
std::string FormatLine(const ProgressState& state);

struct ProgressOptions {
  ProgressStyle style = ProgressStyle::kOff;
  uint64_t steps = 1;  // Steps of all runs together.
  double steps_per_epoch = 1;
  uint32_t workers = 0;
  double quiet_seconds = 0;  // Nothing is drawn in this time; a short job needs no bar.
  bool notices = true;       // Show the job's notices.
  bool verbose = false;      // Show details and times.
};

// Any thread.
class Progress {
 public:
  using Workers = std::vector<std::pair<uint32_t, motley_worker_metrics>>;
  using Write = std::function<void(const std::string&)>;
  using Seconds = std::function<double()>;  // Since any fixed moment.
  using Columns = std::function<size_t()>;  // The terminal's width, which may change.

  // `write`, `clock` and `columns` default to stderr, the real time, and the width of stderr.
  explicit Progress(const ProgressOptions& options, Write write = nullptr, Seconds clock = nullptr,
                    Columns columns = nullptr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void OnEvent(const motley_event& event);
  // Sets values that were unknown at construction.
  void Expect(uint64_t steps, double steps_per_epoch, uint32_t workers, bool most = false);
  // `ask` returns the work of all workers, for the count of those that are up and for the table. It
  // is called during OnEvent. `keys`: the user has a key for the table.
  void AskOfWorkers(std::function<Workers()> ask, bool keys);
  void ToggleTable();  // No effect without a terminal or AskOfWorkers.
  void Refresh();      // Redraws the table while there are no events.
  void StartAfresh();  // Forgets what was drawn, because the screen has moved.

  // Begins the next of several runs, after `steps_before` steps of the earlier ones.
  void Restart(uint64_t steps_before);
  void Hide();  // Hides the bar until the next drawing.
  // Prints a separate line above the bar.
  void Say(const std::string& text);
  // Leaves the bar on the screen and draws nothing any more.
  void End();

 private:
  struct Lock;
  void Look(bool at_once);
  void OnStepApplied(const motley_event& event);
  void Print(const std::string& text);
  void OnCheckpoint(uint64_t steps);
  void PrintSafe();
  void Explain(const motley_event& event);
  void PrintDetail(const std::string& text);
  void Draw(bool last);
  void DrawLine(bool last);
  void DrawScreen();
  std::string Erased();

  ProgressOptions options_;
  ProgressState state_;
  uint64_t steps_before_ = 0;
  Write write_;
  Seconds clock_;
  Columns columns_;
  double started_ = -1;  // Negative: not started.
  double drawn_at_ = 0;
  uint64_t drawn_tenth_ = 0;
  bool bar_on_screen_ = false;
  std::function<Workers()> ask_;  // Null: not set.
  LiveWorkers table_;
  double looked_at_ = 0;
  bool table_wanted_ = false;
  bool key_told_ = true;                 // True as well if there is no key.
  std::vector<size_t> lines_above_;      // Widths of the table's lines on the screen.
  std::map<uint32_t, uint32_t> owners_;  // The newest worker of each row of the open step.
  struct {
    double at = -INFINITY;
    uint64_t steps = 0;
  } safe_printed_;  // The last line about a checkpoint.
  struct {
    double since = 0;  // Beginning of a second.
    uint64_t count = 0;
  } details_;  // Printed in this second.
  std::unique_ptr<Lock> lock_;
};

}  // namespace motley
