// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/tiling_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two workers, four partitions, step 0 is open.
class TilingCheckerTest : public testing::Test {
 protected:
  TilingCheckerTest() {
    for (const WorkerId w : {0u, 1u}) checker_.OnEvent(event::WorkerJoined{w, ""});
    Open();
  }
  void Open() {
    CodeForm form;
    form.partitions = 4;
    checker_.OnEvent(event::CommandGiven{OpenLeases{0}, Time()});
    checker_.OnEvent(event::StepOpened{0, form, Time()});
  }
  void Lease(WorkerId worker, std::vector<PartitionId> some) {
    checker_.OnEvent(event::CommandGiven{ExtendLease{worker, 0, std::move(some)}, Time()});
  }
  void Arrive(WorkerId worker, const std::vector<PartitionId>& some) {
    checker_.OnEvent(event::VectorArrived{0, worker, some, Time()});
  }
  void Decode() { checker_.OnEvent(event::StepDecoded{0, {}, {}, Time()}); }

  Violations violations_;
  TilingChecker checker_{violations_, 2};
};

TEST_F(TilingCheckerTest, MovedLeasesThatTileEverythingAreFine) {
  Lease(0, {0, 1, 2});
  Lease(1, {3});
  checker_.OnEvent(event::LeaseReleased{0, 0, std::vector<PartitionId>{2}, Time()});
  Lease(1, {2});
  Arrive(0, {0, 1});
  checker_.OnEvent(event::VectorRefused{0, 1, Time()});
  Lease(0, {3});
  checker_.OnEvent(event::WorkerLost{0, Status()});
  Lease(0, {2});  // The scheduler does not know of the loss yet.
  Lease(1, {2, 3});
  Arrive(1, {2, 3});
  Decode();
  EXPECT_THAT(violations_.list(), IsEmpty());
}

TEST_F(TilingCheckerTest, AStepThatStartsAgainBeginsFromNothing) {
  Lease(0, {0, 1, 2, 3});
  Arrive(0, {0});
  Open();
  Lease(1, {0, 1, 2, 3});
  Arrive(1, {0, 1, 2, 3});
  Decode();
  EXPECT_THAT(violations_.list(), IsEmpty());
}

TEST_F(TilingCheckerTest, FindsLeasesThatOverlap) {
  Lease(0, {0, 1});
  Lease(1, {1});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("while worker 0 had it")));
}

TEST_F(TilingCheckerTest, FindsWhatIsLeasedAgainAfterItCame) {
  Lease(0, {0});
  Arrive(0, {0});
  checker_.OnEvent(event::CommandGiven{CancelWork{0, 0}, Time()});
  Lease(1, {0});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("after it had arrived")));
}

TEST_F(TilingCheckerTest, FindsVectorsOverWhatTheWorkerDidNotHave) {
  Lease(0, {0});
  Arrive(1, {0});
  checker_.OnEvent(event::CommandGiven{CancelWork{0, 0}, Time()});
  Arrive(0, {0});
  checker_.OnEvent(event::LeaseReleased{0, 0, std::vector<PartitionId>{0}, Time()});
  EXPECT_EQ(violations_.list().size(), 3u);
}

TEST_F(TilingCheckerTest, FindsAStepThatIsNotTiled) {
  Lease(0, {0, 1, 2});
  Arrive(0, {0, 1, 2});
  Decode();
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("1 of 4 partitions in no vector")));
}

}  // namespace
}  // namespace motley
