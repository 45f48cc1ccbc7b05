// SPDX-License-Identifier: Apache-2.0
#include "cli/report/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace motley {
namespace {

motley_event Event(int32_t kind, uint64_t microseconds, uint64_t step = 0, uint32_t worker = 0,
                   uint32_t row = 0, const char* text = "") {
  motley_event event{};
  event.struct_size = sizeof(event);
  event.kind = kind;
  event.time_ns = microseconds * 1000;
  event.step = step;
  event.worker = worker;
  event.row = row;
  event.text = text;
  return event;
}

// The only event of this name on the track; null: none.
nlohmann::json Find(const nlohmann::json& trace, int track, const std::string& name) {
  for (const auto& event : trace["traceEvents"]) {
    if (event["tid"] == track && event["name"] == name) return event;
  }
  return nullptr;
}

class TraceTest : public testing::Test {
 protected:
  void SetUp() override {
    trace_.OnEvent(Event(MOTLEY_EVENT_WORKER_JOINED, 900, 0, 0, 0, "worker-0"));
    trace_.OnEvent(Event(MOTLEY_EVENT_WORKER_JOINED, 900, 0, 1, 0, "worker-1"));
    trace_.OnEvent(Event(MOTLEY_EVENT_STEP_OPENED, 1000, 5));
    trace_.OnEvent(Event(MOTLEY_EVENT_ROW_ASSIGNED, 1010, 5, 0, 0));
    trace_.OnEvent(Event(MOTLEY_EVENT_ROW_ASSIGNED, 1020, 5, 1, 1));
    trace_.OnEvent(Event(MOTLEY_EVENT_ROW_ARRIVED, 1510, 5, 0, 0));
    trace_.OnEvent(Event(MOTLEY_EVENT_STEP_DECODED, 1600, 5));
  }
  nlohmann::json Parsed() { return nlohmann::json::parse(trace_.Json()); }

  TraceRecorder trace_;
};

TEST_F(TraceTest, RowLastsFromAssignmentToArrival) {
  const auto event = Find(Parsed(), 1, "step 5 row 0");
  ASSERT_FALSE(event.is_null());
  EXPECT_EQ(event["ph"], "X");
  EXPECT_DOUBLE_EQ(event["ts"], 10);  // Time counts from the first event.
  EXPECT_DOUBLE_EQ(event["dur"], 500);
}

TEST_F(TraceTest, ServerShowsCollectingAndUpdating) {
  trace_.OnEvent(Event(MOTLEY_EVENT_STEP_APPLIED, 1650, 5));
  const auto parsed = Parsed();
  EXPECT_DOUBLE_EQ(Find(parsed, 0, "step 5 collect")["dur"], 600);
  EXPECT_DOUBLE_EQ(Find(parsed, 0, "step 5 update")["dur"], 50);
}

TEST_F(TraceTest, NextAssignmentEndsALateRow) {
  trace_.OnEvent(Event(MOTLEY_EVENT_ROW_ASSIGNED, 1700, 6, 1, 1));
  EXPECT_DOUBLE_EQ(Find(Parsed(), 2, "step 5 row 1 (late)")["dur"], 680);
}

TEST_F(TraceTest, CancelledAndLostRowsSaySo) {
  trace_.OnEvent(Event(MOTLEY_EVENT_ROW_CANCELLED, 1700, 5, 1, MOTLEY_ALL_ROWS));
  trace_.OnEvent(Event(MOTLEY_EVENT_ROW_ASSIGNED, 1800, 6, 0, 0));
  trace_.OnEvent(Event(MOTLEY_EVENT_WORKER_LOST, 1900, 0, 0, 0, "gone"));
  const auto parsed = Parsed();
  EXPECT_FALSE(Find(parsed, 2, "step 5 row 1 (cancelled)").is_null());
  EXPECT_FALSE(Find(parsed, 1, "step 6 row 0 (lost)").is_null());
}

TEST_F(TraceTest, RowsOfAListFollowOneAnother) {
  for (uint32_t row = 3; row < 7; ++row) {
    trace_.OnEvent(Event(MOTLEY_EVENT_ROW_ASSIGNED, 2000, 6, 0, row));
  }
  trace_.OnEvent(Event(MOTLEY_EVENT_ROW_CANCELLED, 2050, 6, 0, 5));
  trace_.OnEvent(Event(MOTLEY_EVENT_ROW_ARRIVED, 2100, 6, 0, 3));
  trace_.OnEvent(Event(MOTLEY_EVENT_ROW_CANCELLED, 2130, 6, 0, 4));
  trace_.OnEvent(Event(MOTLEY_EVENT_ROW_ARRIVED, 2200, 6, 0, 6));
  const auto parsed = Parsed();
  EXPECT_DOUBLE_EQ(Find(parsed, 1, "step 6 row 3")["dur"], 100);
  EXPECT_DOUBLE_EQ(Find(parsed, 1, "step 6 row 4 (cancelled)")["dur"], 30) << "it had begun";
  EXPECT_TRUE(Find(parsed, 1, "step 6 row 5 (cancelled)").is_null()) << "it had not";
  EXPECT_DOUBLE_EQ(Find(parsed, 1, "step 6 row 6")["dur"], 70);
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

TEST_F(TraceTest, OutlivesNamesThatAreNoText) {
  trace_.OnEvent(Event(MOTLEY_EVENT_WORKER_JOINED, 900, 0, 2, 0, "caf\xE9"));
  const auto trace = nlohmann::json::parse(trace_.Json());
  EXPECT_EQ(Find(trace, 3, "thread_name")["args"]["name"], "caf\xEF\xBF\xBD");
}

}  // namespace
}  // namespace motley
