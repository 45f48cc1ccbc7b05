// SPDX-License-Identifier: Apache-2.0
// How far a job is, on stderr: a bar that is drawn over itself in a terminal, otherwise a plain
// line every tenth of the way or ten seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

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
};

class Progress {
 public:
  using Write = std::function<void(const std::string&)>;
  using Seconds = std::function<double()>;  // Since any fixed moment.
  using Columns = std::function<size_t()>;  // The terminal's width; it may change.

  // `write`, `clock` and `columns` default to stderr, the real time, and the width of stderr.
  explicit Progress(const ProgressOptions& options, Write write = nullptr, Seconds clock = nullptr,
                    Columns columns = nullptr);
  ~Progress() { End(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void OnEvent(const motley_event& event);
  // What was not known when it was made.
  void Expect(uint64_t steps, double steps_per_epoch, uint32_t workers);

  // The next of several runs begins, after `steps_before` steps of the earlier ones.
  void Restart(uint64_t steps_before);
  // A line of its own, above the bar.
  void Say(const std::string& text);
  // Leaves the bar where it is; nothing is drawn afterwards.
  void End();

 private:
  bool HeardBefore(std::string_view notice);
  void OnStepApplied(const motley_event& event);
  void Draw(bool last);
  void DrawLine(bool last);

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
  bool same_code_told_ = false;
};

}  // namespace motley
