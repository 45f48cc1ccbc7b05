// SPDX-License-Identifier: Apache-2.0
#include "runtime/observer_fan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "test_paths.h"

namespace motley {
namespace {

// Notes each event.
class Witness final : public JobObserver {
 public:
  void OnWorkerJoined(WorkerId, const std::string&) override { Note("joined"); }
  void OnWorkerLost(WorkerId, const Status&) override { Note("lost"); }
  void OnStepOpened(StepId, const CodeForm&, Time) override { Note("opened"); }
  void OnRowAssigned(StepId, RowId, WorkerId, Time) override { Note("assigned"); }
  void OnRowArrived(StepId, RowId, WorkerId, Time) override { Note("arrived"); }
  void OnVectorArrived(StepId, WorkerId, std::span<const PartitionId>, Time) override {
    Note("vector arrived");
  }
  void OnLeaseReleased(StepId, WorkerId, std::span<const PartitionId>, Time) override {
    Note("released");
  }
  void OnVectorRefused(StepId, WorkerId, Time) override { Note("refused"); }
  void OnStepApproximated(StepId, const ApproximateSum&, Time) override { Note("approximated"); }
  void OnComputed(StepId, WorkerId, uint64_t, Duration, bool, Time) override { Note("computed"); }
  void OnVectorReceived(StepId, WorkerId, uint64_t, Duration, Time) override { Note("received"); }
  void OnRoundTrip(WorkerId, uint64_t, Duration, Time) override { Note("round trip"); }
  void OnLinkMeasured(WorkerId worker, uint64_t bytes, Duration time, Time) override {
    Note("link measured");
    EXPECT_EQ(worker, 3u);
    EXPECT_EQ(bytes, 4000u);
    EXPECT_EQ(time, std::chrono::seconds(2));
  }
  void OnStepDecoded(StepId, const DecodedSum&, std::span<const float>, Time) override {
    Note("decoded");
  }
  void OnStepApplied(StepId, std::span<const float>, double, Time) override { Note("applied"); }
  void OnRate(StepId, double rate) override {
    Note("rate");
    EXPECT_EQ(rate, 0.25);
  }
  void OnJudged(const JudgedVersion& judged) override {
    Note("judged");
    EXPECT_EQ(judged.version, 6u);
  }
  void OnCheckpoint(uint64_t) override { Note("checkpoint"); }
  void OnNotice(const std::string&) override { Note("notice"); }
  void OnSchedulerNotice(const Notice&) override { Note("scheduler's notice"); }
  void OnAuditWarning(const AuditWarning& warning) override {
    Note("audit warning");
    EXPECT_EQ(warning.step, 5u);
  }
  void OnCommand(const Command&, Time) override { Note("command"); }

  std::vector<std::string> heard;

 private:
  void Note(const char* what) { heard.emplace_back(what); }
};

void TellEverything(JobObserver& events) {
  const Time now{};
  events.OnWorkerJoined(0, "a");
  events.OnWorkerLost(0, Status::Ok());
  events.OnStepOpened(0, CodeForm(), now);
  events.OnRowAssigned(0, 0, 0, now);
  events.OnRowArrived(0, 0, 0, now);
  events.OnVectorArrived(0, 0, {}, now);
  events.OnLeaseReleased(0, 0, {}, now);
  events.OnVectorRefused(0, 0, now);
  events.OnStepApproximated(0, ApproximateSum(), now);
  events.OnComputed(0, 0, 1, Duration::zero(), false, now);
  events.OnVectorReceived(0, 0, 1, Duration::zero(), now);
  events.OnRoundTrip(0, 1, Duration::zero(), now);
  events.OnLinkMeasured(3, 4000, std::chrono::seconds(2), now);
  events.OnStepDecoded(0, {}, {}, now);
  events.OnStepApplied(0, {}, 0, now);
  events.OnRate(0, 0.25);
  events.OnJudged({.version = 6});
  events.OnCheckpoint(1);
  events.OnNotice("a");
  events.OnAuditWarning({.step = 5});
  events.OnSchedulerNotice(notice::Ready{1});
  events.OnCommand(Notify{notice::Ready{1}}, now);
}

TEST(ObserverFan, PassesEveryEventOnOnceToEachObserver) {
  Witness alone, one, two;
  TellEverything(alone);
  ObserverFan<Witness, JobObserver, Witness> fan;
  fan.Tell(&one, nullptr, &two);
  TellEverything(fan);
  EXPECT_EQ(one.heard, alone.heard);
  EXPECT_EQ(two.heard, alone.heard);
}

// The names of all events, as runtime/job.h declares them: a new one that the fan forgets, or this
// test, is found here.
std::vector<std::string> Declared(const char* file, const std::string& pattern) {
  std::ifstream in(std::string(MOTLEY_SOURCE_DIR "/") + file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::regex regex(pattern);
  std::vector<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    names.push_back((*it)[1]);
  }
  return names;
}

TEST(ObserverFan, ForgetsNoEvent) {
  const auto declared = Declared("runtime/job.h", "virtual void (On\\w+)\\(");
  EXPECT_GE(declared.size(), 18u);
  EXPECT_EQ(Declared("runtime/observer_fan.h", "  void (On\\w+)\\("), declared);
  Witness alone;
  TellEverything(alone);
  EXPECT_EQ(alone.heard.size(), declared.size());
}

TEST(ObserverFan, TellsNobodyUntilItKnowsWhom) {
  ObserverFan<Witness> fan;
  TellEverything(fan);
}

// What code "auto" measures reaches a recording of the run through it.
TEST(ObserverFan, AnObserverOfSomeEventsHearsThem) {
  struct Links final : JobObserver {
    void OnLinkMeasured(WorkerId, uint64_t, Duration, Time) override { ++measured; }
    int measured = 0;
  } links;
  ObserverFan<JobObserver, JobObserver> inner;
  inner.Tell(&links, nullptr);
  ObserverFan<JobObserver> outer;
  outer.Tell(&inner);
  TellEverything(outer);
  EXPECT_EQ(links.measured, 1);
}

}  // namespace
}  // namespace motley
