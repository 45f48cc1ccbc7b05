// SPDX-License-Identifier: Apache-2.0
// How far a job is, on stderr: a bar that is drawn over itself in a terminal, with a table of its
// workers if somebody asks for it, otherwise a plain line every tenth of the way or ten seconds.
#pragma once

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

// Asks whether stderr is a terminal, and looks at TERM=dumb and NO_COLOR.
ProgressStyle ChooseProgressStyle(bool quiet);

struct ProgressState {
  uint64_t step = 0;
  uint64_t first_step = 0;  // Those before it were done in an earlier run.
  uint64_t steps = 1;
  double epoch = 0;
  double loss = 0;
  double elapsed_seconds = 0;
  uint32_t workers_up = 0;
  uint32_t workers = 0;
  uint64_t safe = 0;  // Steps of the newest checkpoint.
  bool most = false;  // `steps` are the most: the job may end before.
};

// One line without its end, shorter than `columns` where these are enough for the numbers of steps:
// " 45 %|████    | 230/512, 00:09 left, loss 0.4317, 4/4 up". 0 columns: 80.
std::string FormatBar(const ProgressState& state, size_t columns = 0);
std::string FormatLine(const ProgressState& state);

struct ProgressOptions {
  ProgressStyle style = ProgressStyle::kOff;
  uint64_t steps = 1;  // All runs' together.
  double steps_per_epoch = 1;
  uint32_t workers = 0;
  double quiet_seconds = 0;  // Nothing is drawn before; a job that is done by then needs nothing.
  bool notices = true;       // Show what the job has to say.
  bool verbose = false;      // With details, and when it was said.
};

// Any thread.
class Progress {
 public:
  using Workers = std::vector<std::pair<uint32_t, motley_worker_metrics>>;
  using Write = std::function<void(const std::string&)>;
  using Seconds = std::function<double()>;  // Since any fixed moment.
  using Columns = std::function<size_t()>;  // The terminal's width; it may change.

  // `write`, `clock` and `columns` default to stderr, the real time, and the width of stderr.
  explicit Progress(const ProgressOptions& options, Write write = nullptr, Seconds clock = nullptr,
                    Columns columns = nullptr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void OnEvent(const motley_event& event);
  // What was not known when it was made.
  void Expect(uint64_t steps, double steps_per_epoch, uint32_t workers, bool most = false);
  // Asked during OnEvent what the workers have done, for a table that a key shows.
  void AskOfWorkers(std::function<Workers()> ask);
  void ToggleTable();  // In a terminal, and where there is somebody to ask.
  void Refresh();      // Of the table, while nothing happens.
  void StartAfresh();  // What it drew is no longer where it was.

  // The next of several runs begins, after `steps_before` steps of the earlier ones.
  void Restart(uint64_t steps_before);
  void Hide();  // Until there is something to draw.
  // A line of its own, above the bar.
  void Say(const std::string& text);
  // Leaves the bar where it is; nothing is drawn afterwards.
  void End();

 private:
  struct Lock;
  void Look();
  void OnStepApplied(const motley_event& event);
  void Print(const std::string& text);
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
  double started_ = -1;  // Negative: not yet.
  double drawn_at_ = 0;
  uint64_t drawn_tenth_ = 0;
  bool bar_on_screen_ = false;
  std::function<Workers()> ask_;  // Null: nobody.
  LiveWorkers table_;
  double looked_at_ = 0;
  bool table_wanted_ = false;
  bool key_told_ = false;
  std::vector<size_t> lines_above_;      // The table's on the screen, by their widths.
  std::map<uint32_t, uint32_t> owners_;  // Of the open step's rows, the newest.
  double details_since_ = 0;             // A second in which
  uint64_t details_ = 0;                 // there were so many.
  std::unique_ptr<Lock> lock_;
};

}  // namespace motley
