// SPDX-License-Identifier: Apache-2.0
// Each test acts like a broken server of a job without a barrier, and the checker must report it.
#include "sim/checkers/own_updates_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OwnUpdatesCheckerTest : public testing::Test {
 protected:
  void Give(StepId update, WorkerId worker) {
    checker_.OnEvent(event::StepOpened{update, form_, Time{}});
    checker_.OnEvent(event::RowAssigned{update, 0, worker, Time{}});
  }
  void Arrive(StepId update, WorkerId worker) {
    answered_[update] = worker;
    checker_.OnEvent(event::RowArrived{update, 0, worker, Time{}});
  }
  void Apply(StepId update, uint64_t staleness = 0) {
    const uint64_t version = checker_.applied() - staleness;
    checker_.OnEvent(event::StepDecoded{update, {}, {}, Time{}, version, answered_.at(update)});
    checker_.OnEvent(event::StepApplied{checker_.applied(), {}, 0, Time{}, staleness});
  }
  void End(WorkerId worker, double seconds = 0) {
    const Time now = Time{} + FromSeconds(seconds);
    checker_.OnEvent(event::WorkComputed{0, worker, 1, {}, /*so_far=*/false, now});
  }
  void Whole(StepId update, WorkerId worker) {
    Give(update, worker);
    Arrive(update, worker);
    Apply(update);
    End(worker);
  }

  std::map<StepId, WorkerId> answered_;
  Violations violations_;
  const CodeForm form_;
  OwnUpdatesChecker checker_{violations_, /*workers=*/2, {.one_each = true, .most_ahead = 1}};
};

TEST_F(OwnUpdatesCheckerTest, UpdatesInAnyOrderAreFine) {
  Give(0, 0);
  Give(1, 1);
  Arrive(1, 1);
  Apply(1);
  Arrive(0, 0);
  Apply(0);
  EXPECT_EQ(checker_.applied(), 2u);
  EXPECT_THAT(violations_.list(), IsEmpty());
}

TEST_F(OwnUpdatesCheckerTest, AWorkerBeyondTheBoundIsReported) {
  Give(0, 1);
  Whole(1, 0);
  Whole(2, 0);
  EXPECT_THAT(violations_.list(), IsEmpty());
  Give(3, 0);
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("worker 0 began after 2 updates, and worker 1 had 0")));
}

TEST_F(OwnUpdatesCheckerTest, NobodyWaitsForAWorkerThatHangs) {
  Give(0, 1);
  Give(1, 0);
  Arrive(0, 1);
  Apply(0);  // The end of its work does not come.
  Arrive(1, 0);
  Apply(1);
  End(0);
  for (StepId update = 2; update < 6; ++update) Whole(update, 0);
  EXPECT_THAT(violations_.list(), IsEmpty());
}

// Its clock was set to the slowest other one, so the bound is judged without it.
TEST_F(OwnUpdatesCheckerTest, AWorkerThatHungAndCameBackIsNotJudged) {
  Give(0, 1);
  Whole(1, 0);
  Whole(2, 0);
  Arrive(0, 1);
  Apply(0);
  End(1, 1);
  Whole(3, 0);
  Whole(4, 0);
  EXPECT_THAT(violations_.list(), IsEmpty());
}

TEST_F(OwnUpdatesCheckerTest, AWorkerWhoseEndComesInTimeIsJudged) {
  Give(0, 1);
  Whole(1, 0);
  Whole(2, 0);
  Arrive(0, 1);
  Apply(0);
  End(1, 0.01);
  Whole(3, 0);
  Give(4, 0);
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("worker 0 began after 3 updates, and worker 1 had 1")));
}

TEST_F(OwnUpdatesCheckerTest, AWrongStalenessIsReported) {
  Give(0, 0);
  Arrive(0, 0);
  Whole(1, 1);
  checker_.OnEvent(event::StepDecoded{0, {}, {}, Time{}, 0, 0});
  checker_.OnEvent(event::StepApplied{1, {}, 0, Time{}, 0});
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("update 0 has staleness 1, and 0 was reported")));
}

TEST_F(OwnUpdatesCheckerTest, AnUpdateOfAnotherWorkerIsReported) {
  Give(0, 0);
  Arrive(0, 0);
  checker_.OnEvent(event::StepDecoded{0, {}, {}, Time{}, 0, 1});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("was applied as another worker's")));
}

TEST_F(OwnUpdatesCheckerTest, AnUpdateOutOfOrderIsReported) {
  OwnUpdatesChecker checker{violations_, /*workers=*/2, {.one_each = true, .in_order = true}};
  for (const StepId update : {0, 1}) {
    const auto worker = static_cast<WorkerId>(update);
    checker.OnEvent(event::StepOpened{update, form_, Time{}});
    checker.OnEvent(event::RowAssigned{update, 0, worker, Time{}});
    checker.OnEvent(event::RowArrived{update, 0, worker, Time{}});
  }
  checker.OnEvent(event::StepDecoded{1, {}, {}, Time{}, 0, 1});
  checker.OnEvent(event::StepApplied{0, {}, 0, Time{}});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("update 1 was number 0")));
}

TEST_F(OwnUpdatesCheckerTest, AGradientOlderThanTheBoundIsReported) {
  Give(0, 1);
  Whole(1, 0);
  Whole(2, 0);
  Give(3, 0);  // Too early, so that the gradient of update 0 becomes too old.
  Arrive(3, 0);
  Apply(3);
  End(0);
  Give(4, 0);
  Arrive(4, 0);
  Apply(4);
  Arrive(0, 1);
  Apply(0, 4);
  EXPECT_THAT(violations_.list(), testing::Contains(HasSubstr("was 4 updates old, at most 3 fit")));
}

TEST_F(OwnUpdatesCheckerTest, ASecondWorkerIsReported) {
  Give(0, 0);
  checker_.OnEvent(event::RowAssigned{0, 0, 1, Time{}});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("worker 1 beside worker 0")));
}

TEST_F(OwnUpdatesCheckerTest, AnAnswerThatNobodyAskedForIsReported) {
  Give(0, 0);
  Arrive(0, 1);
  Arrive(5, 0);
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("it was not given"), HasSubstr("was not open")));
}

TEST_F(OwnUpdatesCheckerTest, AnUpdateThatIsAppliedTwiceIsReported) {
  Whole(0, 0);
  Apply(0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("decoded while it was not open"),
                                              HasSubstr("has no decoded gradient")));
}

}  // namespace
}  // namespace motley
