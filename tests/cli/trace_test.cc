// SPDX-License-Identifier: Apache-2.0
#include "cli/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace motley {
namespace {

Time At(int64_t microseconds) { return Time(std::chrono::microseconds(microseconds)); }

// The only event of that name on the track; null when there is none.
nlohmann::json Find(const nlohmann::json& trace, int track, const std::string& name) {
  for (const auto& event : trace["traceEvents"]) {
    if (event["tid"] == track && event["name"] == name) return event;
  }
  return nullptr;
}

class TraceTest : public testing::Test {
 protected:
  void SetUp() override {
    trace_.OnWorkerJoined(0, "worker-0");
    trace_.OnWorkerJoined(1, "worker-1");
    trace_.OnStepOpened(5, CodeForm(), At(1000));
    trace_.OnRowAssigned(5, 0, 0, At(1010));
    trace_.OnRowAssigned(5, 1, 1, At(1020));
    trace_.OnRowArrived(5, 0, 0, At(1510));
    trace_.OnStepDecoded(5, {}, {}, At(1600));
  }
  nlohmann::json Parsed() { return nlohmann::json::parse(trace_.Json()); }

  TraceRecorder trace_;
};

TEST_F(TraceTest, RowLastsFromAssignmentToArrival) {
  const auto event = Find(Parsed(), 1, "step 5 row 0");
  ASSERT_FALSE(event.is_null());
  EXPECT_EQ(event["ph"], "X");
  EXPECT_DOUBLE_EQ(event["ts"], 10);  // From the first event on.
  EXPECT_DOUBLE_EQ(event["dur"], 500);
}

TEST_F(TraceTest, ServerShowsCollectingAndUpdating) {
  trace_.OnStepApplied(5, {}, 0, At(1650));
  const auto parsed = Parsed();
  EXPECT_DOUBLE_EQ(Find(parsed, 0, "step 5 collect")["dur"], 600);
  EXPECT_DOUBLE_EQ(Find(parsed, 0, "step 5 update")["dur"], 50);
}

TEST_F(TraceTest, NextAssignmentEndsALateRow) {
  trace_.OnRowAssigned(6, 1, 1, At(1700));
  EXPECT_DOUBLE_EQ(Find(Parsed(), 2, "step 5 row 1 (late)")["dur"], 680);
}

TEST_F(TraceTest, CancelledAndLostRowsSaySo) {
  trace_.OnCommand(CancelWork{1, 5}, At(1700));
  trace_.OnRowAssigned(6, 0, 0, At(1800));
  trace_.OnWorkerLost(0, Status::Unavailable("gone"));
  const auto parsed = Parsed();
  EXPECT_FALSE(Find(parsed, 2, "step 5 row 1 (cancelled)").is_null());
  EXPECT_FALSE(Find(parsed, 1, "step 6 row 0 (lost)").is_null());
}

TEST_F(TraceTest, TracksAreNamed) {
  const auto parsed = Parsed();
  std::vector<std::string> names;
  for (const auto& event : parsed["traceEvents"]) {
    if (event["ph"] == "M") names.push_back(event["args"]["name"]);
  }
  EXPECT_THAT(names, testing::ElementsAre("server", "worker-0", "worker-1"));
}

TEST(TraceRecorder, EmptyTraceIsValid) {
  EXPECT_EQ(nlohmann::json::parse(TraceRecorder().Json())["traceEvents"].size(), 1U);
}

}  // namespace
}  // namespace motley
