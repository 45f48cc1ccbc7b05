// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/live_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/terminal/terminal.h"

namespace motley {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::pair<uint32_t, motley_worker_metrics> Worker(uint32_t number, uint64_t samples) {
  motley_worker_metrics metrics MOTLEY_WORKER_METRICS_INIT;
  metrics.state = MOTLEY_WORKER_UP;
  metrics.samples = samples;
  metrics.name = "pc";
  return {number, metrics};
}

TEST(LiveWorkers, RatesAreThoseOfTheLastSeconds) {
  LiveWorkers table;
  table.Look(0, {Worker(0, 0)});
  EXPECT_EQ(table.rows()[0].samples_per_second, 0);
  for (int second = 1; second <= 10; ++second) {
    table.Look(second, {Worker(0, 100 * static_cast<uint64_t>(second))});
  }
  EXPECT_DOUBLE_EQ(table.rows()[0].samples_per_second, 100);
  EXPECT_STREQ(table.rows()[0].state, "up");
  table.Look(11, {Worker(0, 1000)});
  table.Look(12, {Worker(0, 1000), Worker(1, 700)});
  EXPECT_DOUBLE_EQ(table.rows()[0].samples_per_second, 0);
  EXPECT_STREQ(table.rows()[0].state, "idle");
  EXPECT_DOUBLE_EQ(table.rows()[1].samples_per_second, 350);
  EXPECT_DOUBLE_EQ(table.rows()[1].share, 1);
  auto gone = Worker(1, 700);
  gone.second.state = MOTLEY_WORKER_LOST;
  table.Look(13, {gone});
  EXPECT_STREQ(table.rows()[0].state, "lost");
}

TEST(FormatWorkers, FitsAnyWidth) {
  std::vector<LiveWorkers::Row> rows;
  for (uint32_t i = 0; i < 12; ++i) {
    rows.push_back({i, "gr\u00fcn-und-blau-und-rot-und-gelb", "silent", 1.25, 123456789, 123456});
  }
  for (size_t columns = 1; columns < 150; ++columns) {
    for (const std::string& line : FormatWorkers(rows, columns, 40)) {
      EXPECT_LT(ColumnsOf(line), columns) << line;
    }
  }
  EXPECT_EQ(FormatWorkers(rows, 60, 40)[1],
            "0 gr\u00fcn-und-blau-und-rot-  125 %       123M 123456  silent");
}

TEST(FormatWorkers, SaysHowManyItHasNoRoomFor) {
  std::vector<LiveWorkers::Row> rows;
  for (uint32_t i = 0; i < 12; ++i) rows.push_back({i, "pc", "up", 0.1, 950, 0});
  EXPECT_THAT(FormatWorkers(rows, 80, 13), SizeIs(13));
  const std::vector<std::string> some = FormatWorkers(rows, 80, 5);
  EXPECT_THAT(some, SizeIs(5));
  EXPECT_THAT(some[3], HasSubstr("2 pc"));
  EXPECT_EQ(some[4], "and 9 more");
}

}  // namespace
}  // namespace motley
