// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "cli/terminal/error_stream.h"
#include "cli/terminal/flag_words.h"
#include "cli/terminal/terminal.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kLineSeconds = 10;
constexpr size_t kUnknownColumns = 80;  // Used if the terminal's width is unknown.
constexpr double kLookSeconds = 0.5;    // Time between two looks at the workers.
constexpr double kKeySeconds = 3;       // After this time a line says which key shows the table.
constexpr uint64_t kMostDetails = 20;   // Per second.
constexpr const char* kEraseLine = "\r\x1b[K";

double RealSeconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string Clock(double seconds) {
  if (!std::isfinite(seconds) || seconds >= 360000) return "--:--";
  const auto whole = static_cast<uint64_t>(std::max(0.0, seconds) + 0.5);
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

double Rate(const ProgressState& state) {
  const auto done = static_cast<double>(state.step - state.first_step);
  return state.elapsed_seconds > 0 ? done / state.elapsed_seconds : 0;
}

std::string Left(const ProgressState& state) {
  const double rate = Rate(state);
  return Clock(rate > 0 ? static_cast<double>(state.steps - state.step) / rate : INFINITY);
}

const char* AtMost(const ProgressState& state) { return state.most ? "at most " : ""; }

uint32_t WorkersUp(const ProgressState& state) {
  return state.workers_there - std::min(state.workers_late, state.workers_there);
}

uint64_t Percent(const ProgressState& state) {
  return static_cast<uint64_t>(100.0 * static_cast<double>(state.step) /
                               static_cast<double>(std::max<uint64_t>(state.steps, 1)));
}

}  // namespace

ProgressStyle ChooseProgressStyle(bool quiet) {
  if (quiet) return ProgressStyle::kOff;
  const char* term = std::getenv("TERM");
  if (isatty(STDERR_FILENO) == 0 || term == nullptr || std::string_view(term) == "dumb") {
    return ProgressStyle::kLines;
  }
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain = no_color != nullptr && *no_color != '\0';
  return plain ? ProgressStyle::kBar : ProgressStyle::kColourBar;
}

// The most important parts come first; others are added while there is room.
std::string FormatBar(const ProgressState& state, size_t columns) {
  constexpr uint64_t kWidth = 20, kNarrow = 8;
  constexpr size_t kWide = 90;  // Narrower terminals get a shorter bar.
  if (columns == 0) columns = kUnknownColumns;
  const uint64_t width = columns >= kWide ? kWidth : kNarrow;
  const uint64_t full = std::min<uint64_t>(width, Percent(state) * width / 100);
  std::string bar;
  for (uint64_t i = 0; i < width; ++i) bar += i < full ? "█" : " ";
  std::string text = fmt::format("{:3} %|{}| {}/{}, {}{} left", Percent(state), bar, state.step,
                                 state.steps, AtMost(state), Left(state));
  if (ColumnsOf(text) >= columns) text = fmt::format("{:3} %", Percent(state));
  const std::string more[] = {fmt::format(", loss {:.4g}", state.loss),
                              fmt::format(", {}/{} up", WorkersUp(state), state.workers),
                              state.safe > 0 ? fmt::format(", {} safe", state.safe) : "",
                              fmt::format(", {:.1f} step/s", Rate(state)),
                              fmt::format(", epoch {:.1f}", state.epoch),
                              ", " + Clock(state.elapsed_seconds) + " so far"};
  // A terminal may begin a new line after its last column is written.
  for (const std::string& part : more) {
    if (ColumnsOf(text) + part.size() < columns) text += part;
  }
  return text;
}

std::string FormatLine(const ProgressState& state) {
  return fmt::format(
      "step {}/{} ({} %), epoch {:.1f}, loss {:.4g}, {:.1f} steps/s, {}/{} workers, {}{} left",
      state.step, state.steps, Percent(state), state.epoch, state.loss, Rate(state),
      WorkersUp(state), state.workers, AtMost(state), Left(state));
}

struct Progress::Lock {
  std::mutex mutex;
};

Progress::Progress(const ProgressOptions& options, Write write, Seconds clock, Columns columns)
    : options_(options),
      write_(write ? std::move(write) : WriteToErrorStream),
      clock_(clock ? std::move(clock) : RealSeconds),
      columns_(columns ? std::move(columns) : [] { return TerminalColumns(STDERR_FILENO); }),
      lock_(std::make_unique<Lock>()) {
  Expect(options.steps, options.steps_per_epoch, options.workers);
}

Progress::~Progress() { End(); }

void Progress::Restart(uint64_t steps_before) {
  const std::lock_guard lock(lock_->mutex);
  steps_before_ = steps_before;
  state_.workers_there = state_.workers_late = 0;
}

void Progress::Expect(uint64_t steps, double steps_per_epoch, uint32_t workers, bool most) {
  const std::lock_guard lock(lock_->mutex);
  state_.steps = options_.steps = steps;
  state_.workers = options_.workers = workers;
  state_.most = most;
  options_.steps_per_epoch = steps_per_epoch;
}

void Progress::AskOfWorkers(std::function<Workers()> ask, bool keys) {
  const std::lock_guard lock(lock_->mutex);
  ask_ = std::move(ask);
  key_told_ = !keys;
}

void Progress::OnEvent(const motley_event& event) {
  const std::lock_guard lock(lock_->mutex);
  // A notice may be that a worker is late. It may be the last event for a long time.
  Look(/*at_once=*/event.kind == MOTLEY_EVENT_NOTICE);
  if (options_.verbose && options_.notices) Explain(event);
  switch (event.kind) {
    case MOTLEY_EVENT_WORKER_JOINED: ++state_.workers_there; break;
    case MOTLEY_EVENT_WORKER_LOST:
      if (state_.workers_there > 0) --state_.workers_there;
      break;
    case MOTLEY_EVENT_STEP_OPENED:
      if (started_ >= 0) break;
      started_ = drawn_at_ = clock_();
      state_.first_step = event.step;
      break;
    case MOTLEY_EVENT_STEP_APPLIED: OnStepApplied(event); break;
    case MOTLEY_EVENT_CHECKPOINT: OnCheckpoint(event.step); break;
    case MOTLEY_EVENT_NOTICE:
      if (options_.notices) Print(WithFlags(event.text));
      break;
    default: break;
  }
}

// The bar in a terminal shows the safe steps already. A fast job would fill a log with them.
void Progress::OnCheckpoint(uint64_t steps) {
  state_.safe = steps;
  if (!options_.verbose) {
    if (options_.style != ProgressStyle::kLines) return;
    const double now = clock_();
    if (now - safe_printed_.at < kLineSeconds) return;
    safe_printed_.at = now;
  }
  PrintSafe();
}

void Progress::PrintSafe() {
  safe_printed_.steps = state_.safe;
  Print(fmt::format("checkpoint: {} {} safe", Counted(state_.safe, "step"),
                    state_.safe == 1 ? "is" : "are"));
}

// Explains events to users who want more than the job's notices.
void Progress::Explain(const motley_event& event) {
  switch (event.kind) {
    case MOTLEY_EVENT_DETAIL: return Print(event.text);
    case MOTLEY_EVENT_WORKER_JOINED:
      return PrintDetail(fmt::format("worker {} joined: {}", event.worker, event.text));
    case MOTLEY_EVENT_STEP_OPENED: return owners_.clear();
    case MOTLEY_EVENT_ROW_ASSIGNED: {
      const auto [owner, first] = owners_.try_emplace(event.row, event.worker);
      const uint32_t before = std::exchange(owner->second, event.worker);
      if (first || before == event.worker) return;
      return PrintDetail(fmt::format("step {}: worker {} takes over row {} of worker {}",
                                     event.step, event.worker, event.row, before));
    }
    case MOTLEY_EVENT_ROW_CANCELLED:
      if (event.row != MOTLEY_ALL_ROWS) return;  // A copy of the row has arrived.
      return PrintDetail(fmt::format("step {}: worker {} is late, and its answer is not needed",
                                     event.step, event.worker));
    default: return;
  }
}

// Limits the number of lines, because a job that moves much work may have thousands of events per
// second.
void Progress::PrintDetail(const std::string& text) {
  const double now = clock_();
  if (now - details_.since >= 1) {
    const uint64_t before = std::exchange(details_.count, 0);
    details_.since = now;
    if (before > kMostDetails) Print(fmt::format("({} more like these)", before - kMostDetails));
  }
  if (++details_.count <= kMostDetails) Print(text);
}

// Keeps the table up to date even while it is hidden, because it shows rates of the last seconds.
void Progress::Look(bool at_once) {
  if (!ask_ || started_ < 0) return;
  const double now = clock_();
  if (!at_once && now - looked_at_ < kLookSeconds) return;
  looked_at_ = now;
  const Workers workers = ask_();
  table_.Look(now, workers);
  state_.workers_late =
      static_cast<uint32_t>(std::count_if(workers.begin(), workers.end(), [](const auto& each) {
        return each.second.state == MOTLEY_WORKER_LATE;
      }));
}

void Progress::OnStepApplied(const motley_event& event) {
  state_.step = steps_before_ + event.step + 1;
  state_.epoch = static_cast<double>(state_.step) / options_.steps_per_epoch;
  state_.loss = event.loss;
  Draw(state_.step == state_.steps);
}

void Progress::Say(const std::string& text) {
  const std::lock_guard lock(lock_->mutex);
  Print(text);
}

void Progress::Print(const std::string& text) {
  if (options_.style == ProgressStyle::kOff) return;
  const bool terminal = options_.style != ProgressStyle::kLines;
  const std::string stamp = options_.verbose ? TimeStamp() : "";
  const bool drawn = bar_on_screen_;
  write_(Erased() + WrapText(stamp + text, terminal ? columns_() : 0) + "\n");
  if (drawn && table_wanted_) DrawScreen();
}

void Progress::Hide() {
  const std::lock_guard lock(lock_->mutex);
  if (const std::string erased = Erased(); !erased.empty()) write_(erased);
}

void Progress::ToggleTable() {
  const std::lock_guard lock(lock_->mutex);
  if (!ask_ || !bar_on_screen_) return;
  key_told_ = true;
  const std::string erased = Erased();
  table_wanted_ = !table_wanted_;
  write_(erased);
  DrawScreen();
}

void Progress::Refresh() {
  const std::lock_guard lock(lock_->mutex);
  if (!table_wanted_ || !bar_on_screen_) return;
  state_.elapsed_seconds = clock_() - started_;
  DrawScreen();
}

void Progress::StartAfresh() {
  const std::lock_guard lock(lock_->mutex);
  lines_above_.clear();
}

void Progress::End() {
  const std::lock_guard lock(lock_->mutex);
  if (options_.style == ProgressStyle::kLines && safe_printed_.steps != state_.safe) PrintSafe();
  if (bar_on_screen_) write_("\n");
  bar_on_screen_ = false;
  lines_above_.clear();
  options_.style = ProgressStyle::kOff;
}

void Progress::Draw(bool last) {
  if (options_.style == ProgressStyle::kOff) return;
  const double now = clock_();
  state_.elapsed_seconds = now - started_;
  if (state_.elapsed_seconds < options_.quiet_seconds) return;
  if (options_.style == ProgressStyle::kLines) return DrawLine(last);
  if (!last && bar_on_screen_ && now - drawn_at_ < kRedrawSeconds) return;
  drawn_at_ = now;
  if (!last && state_.elapsed_seconds > kKeySeconds && !std::exchange(key_told_, true)) {
    Print("(t shows a table of the workers, and hides it)");
  }
  DrawScreen();
}

// Control codes that move the cursor to the beginning of the drawing and clear the screen from
// there on. Lines may have been wrapped when the terminal became narrower.
std::string Progress::Erased() {
  if (!std::exchange(bar_on_screen_, false)) return "";
  size_t rows = 0;
  const size_t columns = columns_();
  for (const size_t width : lines_above_) {
    rows += columns > 0 ? std::max<size_t>(1, (width + columns - 1) / columns) : 1;
  }
  lines_above_.clear();
  return rows > 0 ? fmt::format("\r\x1b[{}A\x1b[J", rows) : kEraseLine;
}

void Progress::DrawScreen() {
  const size_t columns = columns_();
  std::string text = Erased();
  if (text.empty()) text = kEraseLine;
  if (table_wanted_) {
    const size_t lines = TerminalLines(STDERR_FILENO);
    const size_t room = lines > 4 ? lines - 2 : 22;
    for (const std::string& line :
         FormatWorkers(table_.rows(), columns > 0 ? columns : kUnknownColumns, room)) {
      text += line + "\n";
      lines_above_.push_back(ColumnsOf(line));
    }
  }
  const bool colour = options_.style == ProgressStyle::kColourBar;
  write_(text + (colour ? "\x1b[36m" : "") + FormatBar(state_, columns) +
         (colour ? "\x1b[0m" : ""));
  bar_on_screen_ = true;
}

void Progress::DrawLine(bool last) {
  const double now = started_ + state_.elapsed_seconds;
  const uint64_t tenth = Percent(state_) / 10;
  if (!last && tenth <= drawn_tenth_ && now - drawn_at_ < kLineSeconds) return;
  drawn_tenth_ = tenth;
  drawn_at_ = now;
  write_((options_.verbose ? TimeStamp() : "") + FormatLine(state_) + "\n");
}

}  // namespace motley
