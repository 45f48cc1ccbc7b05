// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/terminal/terminal.h"

namespace motley {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

motley_event Event(int32_t kind, uint64_t step = 0, const char* text = "") {
  motley_event event{};
  event.struct_size = sizeof(event);
  event.kind = kind;
  event.step = step;
  event.loss = 0.25;
  event.text = text;
  return event;
}

// A job of `steps` steps, each `seconds` long, shown in the given style.
class Shown {
 public:
  Shown(ProgressStyle style, uint64_t steps, double quiet_seconds = 0)
      : progress_(
            Options(style, steps, quiet_seconds),
            [this](const std::string& text) { written.push_back(text); }, [this] { return now_; }) {
  }

  void Run(uint64_t steps, double seconds) {
    progress_.OnEvent(Event(MOTLEY_EVENT_STEP_OPENED));
    for (uint64_t step = 0; step < steps; ++step) {
      now_ += seconds;
      progress_.OnEvent(Event(MOTLEY_EVENT_STEP_APPLIED, step));
    }
  }
  Progress& progress() { return progress_; }

  std::vector<std::string> written;

 private:
  static ProgressOptions Options(ProgressStyle style, uint64_t steps, double quiet_seconds) {
    ProgressOptions options;
    options.style = style;
    options.steps = steps;
    options.steps_per_epoch = 10;
    options.workers = 4;
    options.quiet_seconds = quiet_seconds;
    return options;
  }
  double now_ = 100;
  Progress progress_;
};

TEST(Progress, FastJobGetsALineForEachTenth) {
  Shown shown(ProgressStyle::kLines, 1000);
  shown.Run(1000, 0.001);
  EXPECT_THAT(shown.written, SizeIs(10));
  EXPECT_THAT(shown.written[0], StartsWith("step 100/1000 (10 %), epoch 10.0, loss 0.25, 1000.0"));
  EXPECT_THAT(shown.written[9], StartsWith("step 1000/1000 (100 %)"));
}

TEST(Progress, SlowJobGetsALineEveryTenSeconds) {
  Shown shown(ProgressStyle::kLines, 100000);
  shown.Run(100, 1);
  EXPECT_THAT(shown.written, SizeIs(10));
}

TEST(Progress, LinesHaveNoControlCharacters) {
  Shown shown(ProgressStyle::kLines, 10);
  shown.Run(10, 1);
  for (const std::string& line : shown.written) {
    EXPECT_EQ(line.find_first_of("\r\x1b"), std::string::npos);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
  }
}

TEST(Progress, BarIsDrawnOverItselfTenTimesASecond) {
  Shown shown(ProgressStyle::kBar, 1000);
  shown.Run(1000, 0.01);
  EXPECT_GE(shown.written.size(), 90U);
  EXPECT_LE(shown.written.size(), 110U);
  EXPECT_THAT(shown.written.back(), StartsWith("\r\x1b[K100 %|"));
}

TEST(Progress, WithoutColourOnlyTheLineIsErased) {
  Shown plain(ProgressStyle::kBar, 10);
  plain.Run(10, 1);
  EXPECT_EQ(plain.written.back().find("\x1b[36m"), std::string::npos);
  Shown coloured(ProgressStyle::kColourBar, 10);
  coloured.Run(10, 1);
  EXPECT_THAT(coloured.written.back(), HasSubstr("\x1b[36m"));
}

TEST(Progress, NoticesGoAboveTheBar) {
  Shown shown(ProgressStyle::kBar, 10);
  shown.progress().OnEvent(Event(MOTLEY_EVENT_NOTICE, 0, "before"));
  EXPECT_EQ(shown.written.back(), "before\n");
  shown.Run(3, 1);
  shown.progress().OnEvent(Event(MOTLEY_EVENT_NOTICE, 0, "worker 2 lost"));
  EXPECT_EQ(shown.written.back(), "\r\x1b[Kworker 2 lost\n");
}

TEST(Progress, DetailsAreForThoseWhoWantThemAndHaveATime) {
  std::vector<std::string> written;
  ProgressOptions options;
  options.style = ProgressStyle::kLines;
  for (const bool verbose : {false, true}) {
    options.verbose = verbose;
    written.clear();
    double now = 0;
    Progress progress(
        options, [&](const std::string& text) { written.push_back(text); }, [&] { return now; });
    progress.OnEvent(Event(MOTLEY_EVENT_NOTICE, 0, "code: none"));
    progress.OnEvent(Event(MOTLEY_EVENT_DETAIL, 0, "code: none; predicted 3 ms a step"));
    for (int i = 0; i < 25; ++i) progress.OnEvent(Event(MOTLEY_EVENT_WORKER_JOINED, 0, "pc"));
    now = 2;
    progress.OnEvent(Event(MOTLEY_EVENT_WORKER_JOINED, 0, "pc"));
    if (!verbose) {
      EXPECT_THAT(written, testing::ElementsAre("code: none\n"));
      continue;
    }
    ASSERT_THAT(written, SizeIs(2 + 20 + 2));
    const char* const stamp =
        "20[0-9][0-9]-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-6][0-9]"
        "\\.[0-9][0-9][0-9] ";
    EXPECT_THAT(written[0], testing::MatchesRegex(std::string(stamp) + "code: none\n"));
    EXPECT_THAT(written[1], HasSubstr("predicted 3 ms a step"));
    EXPECT_THAT(written[2], testing::MatchesRegex(std::string(stamp) + "worker 0 joined: pc\n"));
    EXPECT_THAT(written[22], HasSubstr("(5 more like these)"));
  }
}

TEST(Progress, SaysWhoTakesOverFromWhomWhereThatIsWanted) {
  std::vector<std::string> written;
  ProgressOptions options;
  options.style = ProgressStyle::kLines;
  options.verbose = true;
  Progress progress(
      options, [&](const std::string& text) { written.push_back(text.substr(24)); },
      [] { return 5.0; });
  const auto assign = [&](uint64_t step, uint32_t row, uint32_t worker) {
    motley_event event = Event(MOTLEY_EVENT_ROW_ASSIGNED, step);
    event.row = row;
    event.worker = worker;
    progress.OnEvent(event);
  };
  progress.OnEvent(Event(MOTLEY_EVENT_STEP_OPENED, 7));
  assign(7, 0, 0);
  assign(7, 1, 1);
  assign(7, 1, 0);
  motley_event late = Event(MOTLEY_EVENT_ROW_CANCELLED, 7);
  late.worker = 1;
  late.row = MOTLEY_ALL_ROWS;
  progress.OnEvent(late);
  progress.OnEvent(Event(MOTLEY_EVENT_STEP_OPENED, 8));
  assign(8, 1, 1);
  EXPECT_THAT(written,
              testing::ElementsAre("step 7: worker 0 takes over row 1 of worker 1\n",
                                   "step 7: worker 1 is late, and its answer is not needed\n"));
}

TEST(Progress, SaysThatAJobWhichMayEndEarlyTakesAtMostSoLong) {
  ProgressState state;
  state.step = 10;
  state.steps = 100;
  state.elapsed_seconds = 10;
  state.most = true;
  EXPECT_THAT(FormatBar(state), HasSubstr("| 10/100, at most 01:30 left"));
  EXPECT_THAT(FormatLine(state), HasSubstr(", at most 01:30 left"));
  state.most = false;
  EXPECT_THAT(FormatBar(state), HasSubstr("| 10/100, 01:30 left"));
}

// Two workers. One has computed 100 samples a second.
class ProgressTable : public testing::Test {
 protected:
  ProgressTable()
      : progress_(
            Options(), [this](const std::string& text) { written_.push_back(text); },
            [this] { return now_; }, [this] { return columns_; }) {
    progress_.AskOfWorkers(
        [this] {
          motley_worker_metrics one MOTLEY_WORKER_METRICS_INIT, other = one;
          one.state = MOTLEY_WORKER_UP;
          one.samples = static_cast<uint64_t>(100 * now_);
          one.name = "old-pc";
          other.state = other_state_;
          other.late = 3;
          other.name = "laptop";
          return Progress::Workers{{0, one}, {2, other}};
        },
        /*keys=*/true);
    progress_.OnEvent(Event(MOTLEY_EVENT_WORKER_JOINED));
    progress_.OnEvent(Event(MOTLEY_EVENT_WORKER_JOINED));
    progress_.OnEvent(Event(MOTLEY_EVENT_STEP_OPENED));
    Step();
    Step();
  }
  static ProgressOptions Options() {
    ProgressOptions options;
    options.style = ProgressStyle::kBar;
    options.steps = 1000;
    options.workers = 2;
    return options;
  }
  void Step() {
    now_ += 1;
    progress_.OnEvent(Event(MOTLEY_EVENT_STEP_APPLIED, step_++));
  }

  std::vector<std::string> written_;
  double now_ = 10;
  size_t columns_ = 80;
  uint64_t step_ = 0;
  uint32_t other_state_ = MOTLEY_WORKER_LOST;
  Progress progress_;
};

TEST_F(ProgressTable, IsDrawnOverItselfAndHiddenAgain) {
  progress_.ToggleTable();
  EXPECT_THAT(written_.back(), HasSubstr("\n0 old-pc "));
  EXPECT_THAT(written_.back(), HasSubstr("100 %        100      0  up\n"));
  EXPECT_THAT(written_.back(), HasSubstr(" -          -      3  lost\n"));
  EXPECT_THAT(written_.back(), HasSubstr("| 2/1000, "));
  Step();
  EXPECT_THAT(written_.back(), StartsWith("\r\x1b[3A\x1b[Jworker "));
  progress_.Say("worker 2 lost");
  EXPECT_EQ(written_[written_.size() - 2], "\r\x1b[3A\x1b[Jworker 2 lost\n");
  EXPECT_THAT(written_.back(), HasSubstr("samples/s"));
  progress_.ToggleTable();
  EXPECT_EQ(written_[written_.size() - 2], "\r\x1b[3A\x1b[J");
  EXPECT_THAT(written_.back(), testing::Not(HasSubstr("samples/s")));
}

// The notice comes right after a look at the workers, and no event may follow for long.
TEST_F(ProgressTable, ALateWorkerIsNotUp) {
  progress_.ToggleTable();
  EXPECT_THAT(written_.back(), HasSubstr(", 2/2 up"));
  other_state_ = MOTLEY_WORKER_LATE;
  progress_.OnEvent(Event(MOTLEY_EVENT_NOTICE, 0, "worker 2 is late"));
  EXPECT_THAT(written_.back(), HasSubstr("      3  late\n"));
  EXPECT_THAT(written_.back(), HasSubstr(", 1/2 up"));
  other_state_ = MOTLEY_WORKER_UP;
  Step();
  EXPECT_THAT(written_.back(), HasSubstr(", 2/2 up"));
}

// Three lines of 60 columns become six in a terminal of 40.
TEST_F(ProgressTable, IsErasedWholeAfterTheTerminalBecameNarrow) {
  progress_.ToggleTable();
  columns_ = 40;
  Step();
  EXPECT_THAT(written_.back(), StartsWith("\r\x1b[6A\x1b[J"));
  columns_ = 80;
  progress_.StartAfresh();
  Step();
  EXPECT_THAT(written_.back(), StartsWith("\r\x1b[Kworker "));
}

TEST_F(ProgressTable, SaysOnceWhichKeyShowsIt) {
  for (int i = 0; i < 10; ++i) Step();
  const auto told = [](const std::string& text) {
    return text.find("t shows a table") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(written_.begin(), written_.end(), told), 1);
}

TEST(Progress, QuietShowsNothing) {
  Shown shown(ProgressStyle::kOff, 10);
  shown.Run(10, 20);
  shown.progress().OnEvent(Event(MOTLEY_EVENT_NOTICE, 0, "x"));
  EXPECT_THAT(shown.written, IsEmpty());
}

TEST(Progress, ShortJobNeedsNone) {
  Shown shown(ProgressStyle::kLines, 10, 1.0);
  shown.Run(10, 0.01);
  EXPECT_THAT(shown.written, IsEmpty());
}

TEST(Progress, EndLeavesTheBarOnItsLine) {
  Shown shown(ProgressStyle::kBar, 10);
  shown.Run(2, 1);
  shown.progress().End();
  EXPECT_EQ(shown.written.back(), "\n");
}

TEST(FormatBar, ShowsWhatItKnows) {
  ProgressState state;
  state.step = 920;
  state.steps = 2048;
  state.epoch = 2.25;
  state.loss = 0.213;
  state.elapsed_seconds = 31;
  state.workers_there = 7;
  state.workers = 8;
  EXPECT_EQ(FormatBar(state, 140),
            " 44 %|████████            | 920/2048, 00:38 left, loss 0.213, 7/8 up, 29.7 step/s, "
            "epoch 2.2, 00:31 so far");
  state.safe = 900;
  EXPECT_THAT(FormatBar(state, 140), HasSubstr("7/8 up, 900 safe, 29.7 step/s"));
}

TEST(FormatBar, FitsTheTerminal) {
  ProgressState state;
  state.step = 123456;
  state.steps = 1000000;
  state.loss = 1.234e-5;
  state.elapsed_seconds = 4000;
  state.workers_there = state.workers = 128;
  state.safe = 123400;
  EXPECT_EQ(FormatBar(state, 60), " 12 %|        | 123456/1000000, 7:53:20 left, 128/128 up");
  for (size_t columns = 48; columns < 200; ++columns) {
    EXPECT_LT(ColumnsOf(FormatBar(state, columns)), columns);
  }
  EXPECT_THAT(FormatBar(state, 199), HasSubstr("so far"));
}

TEST(Progress, FollowsTheTerminalWhenItsWidthChanges) {
  std::vector<std::string> written;
  size_t columns = 140;
  double now = 0;
  ProgressOptions options;
  options.style = ProgressStyle::kBar;
  options.steps = 1000;
  Progress progress(
      options, [&](const std::string& text) { written.push_back(text); }, [&] { return ++now; },
      [&] { return columns; });
  progress.OnEvent(Event(MOTLEY_EVENT_STEP_OPENED));
  progress.OnEvent(Event(MOTLEY_EVENT_STEP_APPLIED, 0));
  EXPECT_GT(ColumnsOf(written.back()), 80u);
  columns = 60;
  progress.OnEvent(Event(MOTLEY_EVENT_STEP_APPLIED, 1));
  EXPECT_LT(ColumnsOf(written.back()), 64u);  // Four of these characters erase the line.
  progress.OnEvent(Event(MOTLEY_EVENT_NOTICE, 0, std::string(53, 'x').append(" and more").c_str()));
  EXPECT_EQ(written.back(), "\r\x1b[K" + std::string(53, 'x') + " and\n  more\n");
}

TEST(Progress, BarHasTheNewestSafeStep) {
  Shown shown(ProgressStyle::kBar, 20);
  shown.Run(5, 1);
  EXPECT_THAT(shown.written.back(), testing::Not(HasSubstr("safe")));
  shown.progress().OnEvent(Event(MOTLEY_EVENT_CHECKPOINT, 4));
  shown.Run(6, 1);
  EXPECT_THAT(shown.written.back(), HasSubstr(", 4 safe"));
}

TEST(Progress, CheckpointsGetALineEveryTenSecondsAndAtTheEnd) {
  for (const bool verbose : {false, true}) {
    std::vector<std::string> written;
    double now = 0;
    ProgressOptions options;
    options.style = ProgressStyle::kLines;
    options.verbose = verbose;
    Progress progress(
        options,
        [&](const std::string& text) { written.push_back(text.substr(text.find("check"))); },
        [&] { return now; });
    for (uint64_t step = 1; step <= 26; ++step, ++now) {
      progress.OnEvent(Event(MOTLEY_EVENT_CHECKPOINT, step));
    }
    progress.End();
    if (verbose) {
      EXPECT_THAT(written, SizeIs(26));
      continue;
    }
    EXPECT_THAT(written, testing::ElementsAre(
                             "checkpoint: 1 step is safe\n", "checkpoint: 11 steps are safe\n",
                             "checkpoint: 21 steps are safe\n", "checkpoint: 26 steps are safe\n"));
  }
}

TEST(FormatBar, KnowsNoEndBeforeTheFirstStep) {
  EXPECT_THAT(FormatBar(ProgressState()), HasSubstr("--:-- left"));
}

}  // namespace
}  // namespace motley
