// SPDX-License-Identifier: Apache-2.0
// Tests which answers may leave first where the link is thin.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint32_t kWorkers = 5;
const std::vector<double> kSpeeds(kWorkers, 100);

SchedulerOptions Options(const std::string& code = "cyclic", std::optional<bool> grants = true) {
  SchedulerOptions options;
  options.workers = kWorkers;
  options.partitions = 20;
  options.code = code;
  options.tolerate = 2;
  options.batch = 200;
  options.steps = 1000;
  options.grant_sends = grants;
  return options;
}

// A job of which any three of five rows decode, in step 8.
class SendGrantsTest : public testing::Test {
 protected:
  explicit SendGrantsTest(const SchedulerOptions& options = Options()) : script(options) {
    script.Start(kSpeeds);
    for (int step = 0; step < 8; ++step) Step();
  }

  // All workers ask at once, in this order, and those that are let send.
  void Step() {
    script.Advance(1.2);
    std::vector<WorkerId> sends;
    for (WorkerId id = 0; id < kWorkers; ++id) {
      if (!script.Asks(id, id).empty()) sends.push_back(id);
    }
    script.Advance(0.3);
    for (const WorkerId id : sends) script.Arrive(id, id);
    for (WorkerId id = 0; id < kWorkers; ++id) script.Free(id, 120, 1.2);
    script.Applied();
  }
  static std::string Send(WorkerId id, StepId step = 8) {
    return fmt::format("send {} step {} row {}", id, step, id);
  }

  Script script;
};

TEST_F(SendGrantsTest, TheFirstThatDecodeAreSentAndTheOthersAreCancelled) {
  for (const WorkerId id : {4, 0, 2}) EXPECT_THAT(script.Asks(id, id), ElementsAre(Send(id)));
  for (const WorkerId id : {1, 3}) EXPECT_THAT(script.Asks(id, id), IsEmpty());
  const uint64_t late = script.Stats().workers[1].late;
  EXPECT_THAT(script.Arrive(4, 4), IsEmpty());
  EXPECT_THAT(script.Arrive(2, 2), IsEmpty());
  EXPECT_THAT(script.Arrive(0, 0),
              ElementsAre("commit 8", "cancel 1 step 8 held", "cancel 3 step 8 held"));
  EXPECT_EQ(script.Stats().workers[1].late, late) << "the answer was there in time";
  EXPECT_EQ(script.Stats().answers_held, 9 * 2u);
  EXPECT_EQ(script.Stats().held_answers_sent, 0u);
}

TEST_F(SendGrantsTest, OrdersSayThatAnswersWait) {
  for (const WorkerId id : {0, 1, 2}) script.Asks(id, id);
  for (const WorkerId id : {0, 1, 2}) script.Arrive(id, id);
  for (WorkerId id = 0; id < kWorkers; ++id) script.Free(id, 120, 1.2);
  EXPECT_THAT(script.Applied(),
              ElementsAre("open 9", "assign 0 step 9 row 0 waits", "assign 1 step 9 row 1 waits",
                          "assign 2 step 9 row 2 waits", "assign 3 step 9 row 3 waits",
                          "assign 4 step 9 row 4 waits"));
  EXPECT_THAT(Only<notice::SendsInTurn>(script.notices()), SizeIs(1)) << "said once";
}

TEST_F(SendGrantsTest, AnAnswerThatDoesNotComeIsReplacedByOneThatIsHeld) {
  for (const WorkerId id : {0, 1, 2, 3, 4}) script.Asks(id, id);
  script.Advance(0.3);
  script.Arrive(0, 0);
  script.Arrive(1, 1);
  // Sending takes 0.3 s, and a limit is at least 1.5 times that.
  EXPECT_LT(script.SecondsToDeadline(), 0.3);
  EXPECT_THAT(script.TickAtDeadline(), ElementsAre(Send(3)));
  EXPECT_EQ(script.Stats().held_answers_sent, 1u);
  EXPECT_THAT(script.Arrive(3, 3), Contains("commit 8"));
}

TEST_F(SendGrantsTest, AWorkerThatWasLateIsNotReliedUponForAWhile) {
  for (const WorkerId id : {0, 1, 2, 3, 4}) script.Asks(id, id);
  script.Arrive(0, 0);
  script.Arrive(1, 1);
  script.TickAtDeadline();
  script.Arrive(3, 3);
  for (WorkerId id = 0; id < kWorkers; ++id) script.Free(id, 120, 1.2);
  script.Applied();
  for (const WorkerId id : {2, 0, 1, 3}) {
    EXPECT_THAT(script.Asks(id, id), ElementsAre(Send(id, 9))) << "worker 2's counts for nothing";
  }
  EXPECT_THAT(script.Asks(4, 4), IsEmpty());
}

TEST_F(SendGrantsTest, ALostWorkerIsReplacedAtOnce) {
  for (const WorkerId id : {0, 1, 2, 3, 4}) script.Asks(id, id);
  EXPECT_THAT(script.Lost(1), ElementsAre(Send(3)));
  EXPECT_THAT(script.Lost(3), ElementsAre(Send(4)));
}

TEST_F(SendGrantsTest, ARefusedAnswerIsReplacedAtOnce) {
  for (const WorkerId id : {0, 1, 2, 3}) script.Asks(id, id);
  EXPECT_THAT(script.Reject(0, 0, /*touched=*/false), Contains(Send(3)));
}

TEST_F(SendGrantsTest, AStepThatBeginsAgainHoldsAnswersAnew) {
  for (const WorkerId id : {0, 1, 2, 3}) script.Asks(id, id);
  EXPECT_THAT(script.Reject(0, 0, /*touched=*/true), Contains("open 8"));
  EXPECT_THAT(script.Asks(1, 1), IsEmpty()) << "its cancelled order";
}

TEST_F(SendGrantsTest, AHeldRowIsNeitherLateNorGivenToOthers) {
  for (const WorkerId id : {0, 1, 2, 3, 4}) script.Asks(id, id);
  EXPECT_THAT(script.PassTime(3600), Not(Contains(testing::HasSubstr("assign"))));
}

// The decoder needs more rows than the code says.
TEST(SendGrants, AllAnswersAreSentIfTheFirstDoNotDecode) {
  SchedulerOptions options = Options("rs");
  Script script(options, {.residual = 1e-6, .tolerance = 1e-30});
  script.Start(kSpeeds);
  script.Advance(1.2);
  for (WorkerId id = 0; id < kWorkers; ++id) script.Asks(id, id);
  for (const WorkerId id : {0, 1, 2}) EXPECT_THAT(script.Arrive(id, id), IsEmpty());
  EXPECT_LE(script.SecondsToDeadline(), 0.06);
  EXPECT_THAT(script.TickAtDeadline(), ElementsAre("send 3 step 0 row 3", "send 4 step 0 row 4"));
}

TEST(SendGrants, ACopyIsHeldAlthoughTheStepIsNotCompleteYet) {
  SchedulerOptions options = Options("repetition");
  options.workers = 4;
  options.tolerate = 1;
  Script script(options);
  script.Start(std::vector<double>(4, 100));
  const auto& rows = script.decoder().code().rows;
  RowId copy = 1;
  while (rows[copy].front().partition != rows[0].front().partition) ++copy;
  EXPECT_THAT(script.Asks(0, 0), SizeIs(1));
  EXPECT_THAT(script.Asks(copy, copy), IsEmpty());
  const RowId other = copy == 1 ? 2 : 1;
  EXPECT_THAT(script.Asks(other, other), SizeIs(1));
}

TEST(SendGrants, AWorkerThatIsNeededForAnotherRowSendsItsAnswer) {
  SchedulerOptions options = Options("repetition");
  options.workers = 4;
  options.tolerate = 1;
  Script script(options);
  script.Start(std::vector<double>(4, 100));
  const auto& rows = script.decoder().code().rows;
  RowId copy = 1;
  while (rows[copy].front().partition != rows[0].front().partition) ++copy;
  script.Asks(0, 0);
  script.Asks(copy, copy);
  Script::Lines lines;
  for (WorkerId id = 1; id < 4; ++id) {
    if (id != copy) lines = script.Lost(id);
  }
  EXPECT_THAT(lines, Contains(fmt::format("send {} step 0 row {}", copy, copy)));
}

TEST(SendGrants, CodesThatNeedAllAnswersHoldNone) {
  for (const char* code : {"none", "approximate", "multi-message", "partial-coded"}) {
    Script script(Options(code));
    script.Start(kSpeeds);
    EXPECT_THAT(script.Asks(0, 0), IsEmpty()) << code;
    EXPECT_THAT(Only<notice::SendsInTurn>(script.notices()), IsEmpty()) << code;
  }
}

// --- Workers in reserve ---

constexpr char kFirstInReserve[] = "assign 0 step 0 row 0 waits";

class ReserveTest : public testing::Test {
 protected:
  ReserveTest() : script(WithReserve()), opened(script.Start(kSpeeds)) {}

  static SchedulerOptions WithReserve() {
    SchedulerOptions options = Options();
    options.keep_reserve = true;
    return options;
  }

  Script script;
  Script::Lines opened;
};

TEST_F(ReserveTest, BeginsWhenAnotherWorkerHasComputed) {
  EXPECT_THAT(opened, Not(Contains(kFirstInReserve)));
  EXPECT_THAT(opened, Not(Contains("assign 1 step 0 row 1 waits")));
  for (const WorkerId id : {2, 3, 4}) {
    EXPECT_THAT(opened, Contains(fmt::format("assign {} step 0 row {} waits", id, id)));
  }
  const Script::Lines first = script.Asks(2, 2);
  EXPECT_THAT(first, Contains(kFirstInReserve));
  EXPECT_THAT(first, Contains("assign 1 step 0 row 1 waits"));
  EXPECT_THAT(first, Contains("send 2 step 0 row 2"));
  for (const WorkerId id : {3, 4}) EXPECT_THAT(script.Asks(id, id), SizeIs(1));
  EXPECT_THAT(script.Asks(0, 0), IsEmpty());
  for (const WorkerId id : {2, 3}) script.Arrive(id, id);
  EXPECT_THAT(script.Arrive(4, 4), Contains("commit 0"));
}

TEST_F(ReserveTest, IsOfOtherWorkersInTheNextStep) {
  for (const WorkerId id : {2, 3, 4}) script.Asks(id, id);
  for (const WorkerId id : {2, 3, 4}) script.Arrive(id, id);
  for (WorkerId id = 0; id < kWorkers; ++id) script.Free(id, 120, 1.2);
  const Script::Lines next = script.Applied();
  EXPECT_THAT(next, Contains("assign 0 step 1 row 0 waits"));
  EXPECT_THAT(next, Not(Contains("assign 2 step 1 row 2 waits")));
  EXPECT_THAT(next, Not(Contains("assign 3 step 1 row 3 waits")));
}

TEST_F(ReserveTest, TakesThePlaceOfALostWorkerAtOnce) {
  EXPECT_THAT(script.Lost(3), Contains(kFirstInReserve));
}

TEST_F(ReserveTest, TakesThePlaceOfALateWorker) {
  EXPECT_THAT(script.PassTime(600), Contains(kFirstInReserve));
}

// --- The choice by the measured link ---

// Vectors of all workers come at the same time: each takes the server's link for `server` seconds
// and its worker's for `own`.
class MeasuredLink {
 public:
  MeasuredLink(double server, const std::vector<double>& own, bool measured = true)
      : script(Options("cyclic", std::nullopt)), server_(server), own_(own) {
    for (WorkerId id = 0; id < kWorkers; ++id) script.Join(id);
    for (WorkerId id = 0; id < kWorkers && measured; ++id) {
      script.Send(LinkMeasured{id, FromSeconds(std::max(server, own[id]))});
    }
    for (WorkerId id = 0; id < kWorkers; ++id) script.Ready(id, 100);
    for (int step = 0; step < 12; ++step) Step();
  }

  // Returns true if answers waited.
  bool Step() {
    script.Advance(1.2);
    std::vector<WorkerId> sends;
    bool waits = false;
    for (WorkerId id = 0; id < kWorkers; ++id) {
      const bool sent = !script.Asks(id, id).empty();
      waits |= sent;
      if (sent) sends.push_back(id);
    }
    if (!waits) sends = {0, 1, 2, 3, 4};
    double took = 0;
    for (const WorkerId id : sends) {
      took = std::max(took, std::max(server_ * static_cast<double>(sends.size()), own_[id]));
    }
    script.Advance(took);
    for (const WorkerId id : sends) {
      script.Send(RowArrived{id, script.step(), id, FromSeconds(took)});
    }
    script.Send(StepDecodable{script.step()});
    for (WorkerId id = 0; id < kWorkers; ++id) script.Free(id, 120, 1.2);
    script.Applied();
    return waits;
  }

  Script script;

 private:
  const double server_;
  const std::vector<double> own_;
};

TEST(SendGrants, WaitWhereTheServersLinkIsThin) {
  const std::vector<double> wide(kWorkers, 0.001);
  EXPECT_TRUE(MeasuredLink(0.2, wide).Step());
  EXPECT_FALSE(MeasuredLink(0.002, wide).Step()) << "4 ms are not worth it";
  EXPECT_FALSE(MeasuredLink(0.2, wide, /*measured=*/false).Step()) << "which link is thin?";
  EXPECT_FALSE(MeasuredLink(0.001, std::vector<double>(kWorkers, 0.5)).Step())
      << "the workers' links are thin";
}

TEST(SendGrants, AWorkerBehindASlowLinkIsNotReliedUpon) {
  MeasuredLink link(0.2, {2, 0.001, 0.001, 0.001, 0.001});
  Script& script = link.script;
  script.Advance(1.2);
  for (const WorkerId id : {0, 1, 2, 3}) EXPECT_THAT(script.Asks(id, id), SizeIs(1)) << id;
  EXPECT_THAT(script.Asks(4, 4), IsEmpty());
}

// A server's link on which 40 ms are saved in a step, where any three of five answers decode.
class RoundTrips : public testing::Test {
 protected:
  RoundTrips() : link(0.02, std::vector<double>(kWorkers, 0.001)), script(link.script) {}

  // A cancel goes to the workers whose answers are held, and their messages come back after this
  // time. Returns true if answers waited.
  bool Step(double round_seconds) {
    script.Advance(1.2);
    size_t sent = 0;
    for (WorkerId id = 0; id < kWorkers; ++id) sent += script.Asks(id, id).size();
    for (const WorkerId id : {0, 1, 2}) {
      script.Send(RowArrived{id, script.step(), id, FromSeconds(0.06)});
    }
    script.Send(StepDecodable{script.step()});
    script.Advance(round_seconds);
    for (WorkerId id = 0; id < kWorkers; ++id) script.Free(id, 120, 1.2);
    script.Applied();
    return sent > 0;
  }
  uint32_t StepsThatWait(uint32_t steps, double round_seconds) {
    uint32_t waited = 0;
    for (uint32_t step = 0; step < steps; ++step) waited += Step(round_seconds) ? 1 : 0;
    return waited;
  }

  MeasuredLink link;
  Script& script;
};

TEST_F(RoundTrips, ThatTakeAsLongEndTheWait) {
  StepsThatWait(9, 0.1);
  EXPECT_FALSE(Step(0.1));
}

TEST_F(RoundTrips, OneThatTakesLongChangesNothing) {
  Step(1);
  EXPECT_EQ(StepsThatWait(100, 0.002), 100u);
}

TEST_F(RoundTrips, ThatTakeLongForAWhileEndTheWaitForAWhile) {
  StepsThatWait(10, 0.1);
  EXPECT_EQ(StepsThatWait(100, 0.002), 0u);
  StepsThatWait(50, 0.002);
  EXPECT_EQ(StepsThatWait(100, 0.002), 100u);
}

TEST_F(RoundTrips, ThatAlwaysTakeLongAreTriedMoreAndMoreRarely) {
  EXPECT_LT(StepsThatWait(4000, 0.1), 40u);
}

}  // namespace
}  // namespace motley
