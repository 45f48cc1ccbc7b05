// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/event_pump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/loop/virtual_loop.h"

namespace motley {
namespace {

using testing::ElementsAre;

// Records the workers whose events it gets.
class Recorder final : public Scheduler {
 public:
  explicit Recorder(std::vector<std::string>& heard) : heard_(heard) {}

  void OnEvent(const Event& event, Time, std::vector<Command>&) override {
    if (const auto* joined = std::get_if<WorkerJoined>(&event)) {
      heard_.push_back("joined " + std::to_string(joined->worker) + " as " +
                       std::to_string(joined->incarnation));
    }
    if (const auto* lost = std::get_if<WorkerLost>(&event)) {
      heard_.push_back("lost " + std::to_string(lost->worker));
    }
    if (const auto* free = std::get_if<WorkerFree>(&event)) {
      heard_.push_back("free " + std::to_string(free->worker));
    }
  }
  Time Deadline() const override { return kNever; }
  SchedulerStats Stats() const override { return {}; }

 private:
  std::vector<std::string>& heard_;
};

// A job that waits for shard servers holds events back. Orders for a worker that came and went
// meanwhile would go to its next incarnation.
TEST(EventPump, SaysNothingOfAWorkerThatIsLostBeforeTheSchedulerHearsOfIt) {
  VirtualLoop loop;
  std::vector<std::string> heard;
  EventPump pump(loop, std::make_unique<Recorder>(heard), [](const Command&) {});
  const Status why = Status::Unavailable("its process died");
  pump.Hold();
  pump.Raise(WorkerJoined{0, 1});
  pump.Raise(WorkerJoined{1, 2});
  pump.Raise(WorkerFree{0, 0, Duration::zero(), 1});
  pump.Raise(WorkerFree{1, 0, Duration::zero(), 1});
  pump.Raise(WorkerLost{0, why});
  pump.Raise(WorkerJoined{0, 3});
  pump.Release();
  EXPECT_THAT(heard, ElementsAre("joined 1 as 2", "free 1", "joined 0 as 3"));
  pump.Raise(WorkerLost{0, why});
  EXPECT_EQ(heard.back(), "lost 0");
}

}  // namespace
}  // namespace motley
