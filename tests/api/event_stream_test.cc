// SPDX-License-Identifier: Apache-2.0
#include "api/reports/event_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace motley {
namespace {

// Without a clock, time begins at the simulation's zero, independently of earlier contents of
// memory.
TEST(EventStream, WithoutAClockTimeIsThatOfTheEvents) {
  alignas(EventStream) std::array<std::byte, sizeof(EventStream)> memory;
  std::memset(memory.data(), 0x3b, memory.size());
  std::vector<uint64_t> times;
  auto* const events = std::construct_at(
      reinterpret_cast<EventStream*>(memory.data()),
      [&](const motley_event& event) { times.push_back(event.time_ns); }, nullptr);
  events->Tell(MOTLEY_EVENT_NOTICE, "at first");
  events->OnEvent(event::RowAssigned{0, 0, 0, Time(Duration(5000))});
  events->Tell(MOTLEY_EVENT_NOTICE, "then");
  events->OnEvent(event::RowArrived{0, 0, 0, Time(Duration(7000))});
  std::destroy_at(events);
  EXPECT_EQ(times, (std::vector<uint64_t>{0, 5000, 5000, 7000}));
}

}  // namespace
}  // namespace motley
