// SPDX-License-Identifier: Apache-2.0
#include "cli/report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace motley {
namespace {

using Kind = TraceSpan::Kind;
using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kMs = 1'000'000;

// Step 4 takes 10 ms and step 5 takes 30 ms. In step 5 worker 1 is late and worker 0's row is not
// needed.
std::vector<TraceSpan> TwoSteps() {
  return {{Kind::kCollect, 0, 0, 9 * kMs, 4, 0},
          {Kind::kAnswered, 1, 1 * kMs, 8 * kMs, 4, 0},
          {Kind::kUpdate, 0, 9 * kMs, 10 * kMs, 4, 0},
          {Kind::kCollect, 0, 10 * kMs, 38 * kMs, 5, 0},
          {Kind::kCancelled, 1, 11 * kMs, 39 * kMs, 5, 0},
          {Kind::kLate, 2, 11 * kMs, 60 * kMs, 5, 1},
          {Kind::kUpdate, 0, 38 * kMs, 40 * kMs, 5, 0}};
}

const std::map<uint32_t, std::string> kNames = {{0, "fast"}, {1, "<slow & old>"}};

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Timeline, TheSlowestStepIsChosen) {
  EXPECT_EQ(SlowestStep(TwoSteps()), 5u);
  EXPECT_EQ(SlowestStep({}), std::nullopt);
}

TEST(Timeline, ShowsWhoWorkedOnWhatAndWhenItDecoded) {
  const Result<std::string> svg = TimelineSvg(TwoSteps(), kNames, 5);
  ASSERT_TRUE(svg.ok()) << svg.status().ToString();
  EXPECT_THAT(*svg, HasSubstr("step 5: decoded after 28 ms"));
  EXPECT_THAT(*svg, HasSubstr("step 5 row 0 (cancelled): 28 ms"));
  EXPECT_THAT(*svg, HasSubstr("step 5 row 1 (late)"));
  EXPECT_THAT(*svg, HasSubstr(">decoded</text>"));
  EXPECT_THAT(*svg, Not(HasSubstr("step 4")));
  EXPECT_EQ(Count(*svg, "</rect>"), 4u);  // Two rows, collecting and the update.
}

TEST(Timeline, DrawsTransfersUnderTheWork) {
  TraceRecorder trace;
  TraceSpan slice = {Kind::kSends, 1, 30 * kMs, 31 * kMs, 5};
  trace.OnTransfer(slice, true);
  slice.begin_ns = 33 * kMs;
  slice.end_ns = 35 * kMs;
  trace.OnTransfer(slice, false);
  trace.OnTransfer({Kind::kReceives, 1, 10 * kMs, 12 * kMs, 5}, true);
  trace.OnTransfer({Kind::kSends, 1, 36 * kMs, 37 * kMs, 5}, true);
  std::vector<TraceSpan> spans = trace.Spans();
  ASSERT_EQ(spans.size(), 3u);  // Two slices of one vector are one span.
  const std::vector<TraceSpan> steps = TwoSteps();
  spans.insert(spans.end(), steps.begin(), steps.end());
  const Result<std::string> svg = TimelineSvg(spans, kNames, 5);
  ASSERT_TRUE(svg.ok());
  EXPECT_THAT(*svg, HasSubstr("step 5 vector sent: 5 ms"));
  EXPECT_THAT(*svg, HasSubstr("step 5 vector sent: 1 ms"));
  EXPECT_THAT(*svg, HasSubstr("step 5 parameters arrive: 2 ms"));
  EXPECT_THAT(*svg, HasSubstr(">parameters arrive</text>"));
}

TEST(Timeline, NamesAreEscaped) {
  const Result<std::string> svg = TimelineSvg(TwoSteps(), kNames, 5);
  ASSERT_TRUE(svg.ok());
  EXPECT_THAT(*svg, HasSubstr("&lt;slow &amp; old>"));
  EXPECT_THAT(*svg, Not(HasSubstr("<slow")));
}

TEST(Timeline, AStepThatIsNotThereIsNamed) {
  const Status status = TimelineSvg(TwoSteps(), kNames, 6).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("the last one that was is 5"));
}

}  // namespace
}  // namespace motley
