// SPDX-License-Identifier: Apache-2.0
// Two workers own a shard each, and follow that of the other one by reading its new values.
#include "runtime/holders/late_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "tests/runtime/held_transport.h"

namespace motley {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr Duration kMoment = std::chrono::milliseconds(10);
constexpr Duration kReading = std::chrono::milliseconds(600);

class LateNodesTest : public testing::Test {
 protected:
  explicit LateNodesTest(size_t floats = 8) : floats_(floats) {
    ShardState state;
    state.parameters = std::make_shared<std::vector<float>>(floats);
    state.arrays = std::make_shared<std::vector<float>>();
    placement_.Place({0, 1}, {{0, "a"}, {1, "b"}}, state);
    for (const WorkerId worker : {0, 1}) Answer(worker);
    EXPECT_TRUE(placement_.settled());
  }

  // The worker says what it holds, after so many rollbacks.
  void Answer(WorkerId worker, uint32_t rollbacks = 0) {
    for (const uint32_t shard : {0, 1}) {
      wire::ShardHeldT held;
      held.shard = shard;
      held.epoch = 1;
      held.rollbacks = rollbacks;
      EXPECT_TRUE(placement_.OnHeld(worker, held).ok());
    }
  }

  // Owners have the next version.
  void Apply(StepId step) {
    late_nodes_.Restart(/*again=*/false);
    ASSERT_TRUE(update_.Open({step, step}, 1, nullptr).ok());
    bool ended = false;
    update_.EndSum(/*approximately=*/false, [&ended](const auto&) { ended = true; });
    for (const uint32_t shard : {0, 1}) {
      wire::ShardSummedT sum;
      sum.shard = shard;
      sum.step = step;
      sum.attempt = 1;
      sum.loss = std::make_unique<wire::Weight>();
      sum.weight = std::make_unique<wire::Weight>();
      update_.OnSummed(shard, sum);
    }
    ASSERT_TRUE(ended) << "followers need no sums";
    update_.Apply({}, [this](const Status& status) { applied_ = status.ok(); });
    late_nodes_.Watch();
    for (const uint32_t shard : {0, 1}) Applied(step, shard, shard);
  }
  void Applied(StepId step, uint32_t shard, WorkerId worker) {
    wire::ShardAppliedT applied;
    applied.shard = shard;
    applied.step = step;
    applied.finite = true;
    update_.OnApplied(worker, applied);
    late_nodes_.Watch();
  }
  void ExpectARead(StepId step) {
    Apply(step);
    for (Duration time{}; time < kReading; time += kMoment) {
      loop_.RunUntilTime(loop_.Now() + kMoment);
      for (const WorkerId worker : {0, 1}) Answer(worker);
    }
    applied_ = false;
    Applied(step, 0, 1);
    EXPECT_FALSE(applied_) << "worker 0 still reads";
    Applied(step, 1, 0);
    EXPECT_TRUE(applied_);
    EXPECT_EQ(update_.version(), step + 1);
  }

  // Worker 0 answers, and worker 1 does not.
  void PassWithoutOne(Duration time) {
    for (; time > Duration::zero(); time -= kMoment) {
      loop_.RunUntilTime(loop_.Now() + kMoment);
      Answer(0);
    }
  }

  const size_t floats_;
  VirtualLoop loop_;
  HeldTransport transport_;
  ShardPlacement::Setup Reading() const {
    ShardPlacement::Setup setup{Route(floats_, 2), floats_ / 2, 1, {}};
    setup.hold.reads = true;
    return setup;
  }
  ShardPlacement placement_{transport_, Reading(), [](WorkerId worker) {
                              return LinkLoad::To{worker + 1, Header()};
                            }};
  ShardUpdate update_{placement_, /*keep_rows=*/false, {}};
  std::vector<WorkerId> late_;
  AuditReader audit_{placement_, /*secret=*/1, /*workers=*/2};
  LateNodes late_nodes_{loop_, placement_, update_, audit_,
                        [this](WorkerId worker) { late_.push_back(worker); }};
  bool applied_ = false;
};

TEST_F(LateNodesTest, ThatReadForLongAreNotLateIfTheyAnswer) {
  for (StepId step = 0; step < 3; ++step) ExpectARead(step);
  EXPECT_THAT(late_, IsEmpty());
}

// Sums come at once here. The time that reading takes must not make their nodes late any later.
TEST_F(LateNodesTest, ThatDoNotAnswerAreLateSoonAfterTheUsualTime) {
  for (StepId step = 0; step < 3; ++step) ExpectARead(step);
  Apply(3);
  PassWithoutOne(2 * kReading);
  EXPECT_THAT(late_, ElementsAre(1));
}

// 350 MB: about 1.6 s more than for a short vector.
class LateNodesOfALongVectorTest : public LateNodesTest {
 protected:
  LateNodesOfALongVectorTest() : LateNodesTest(size_t{84} << 20) {}
};

TEST_F(LateNodesOfALongVectorTest, MayBeSilentForLongerInTheFirstUpdates) {
  Apply(0);
  PassWithoutOne(std::chrono::milliseconds(1600));
  EXPECT_THAT(late_, IsEmpty());
  PassWithoutOne(std::chrono::milliseconds(800));
  EXPECT_THAT(late_, ElementsAre(1));
}

TEST_F(LateNodesOfALongVectorTest, HaveNoMoreTimeThanOthersLater) {
  for (StepId step = 0; step < 3; ++step) ExpectARead(step);
  Apply(3);
  PassWithoutOne(2 * kReading);
  EXPECT_THAT(late_, ElementsAre(1));
}

// An update may wait for the audit, and nothing else is awaited meanwhile.
TEST_F(LateNodesTest, ThatDoNotAnswerWhileTheyReportToAnAuditAreLate) {
  bool reported = false;
  audit_.Read(0, 1, 0, [&reported](const Result<Auditor::Reported>&) { reported = true; });
  late_nodes_.Watch();
  const auto pass = [this](Duration time, bool both) {
    for (; time > Duration::zero(); time -= kMoment) {
      loop_.RunUntilTime(loop_.Now() + kMoment);
      Answer(0);
      if (both) Answer(1);
    }
  };
  pass(std::chrono::seconds(20), true);
  EXPECT_THAT(late_, IsEmpty()) << "links need what they need";
  pass(std::chrono::seconds(4), false);
  ASSERT_THAT(late_, Not(IsEmpty()));
  EXPECT_THAT(late_, Each(1));
  EXPECT_FALSE(reported);
  audit_.GiveUp(Status::Unavailable("worker 1 is late"));
  EXPECT_TRUE(reported);
  late_.clear();
  pass(std::chrono::seconds(4), false);
  EXPECT_THAT(late_, IsEmpty()) << "nobody is awaited any more";
}

// Their devices still apply the update that is taken back.
TEST_F(LateNodesTest, ThatCannotGoBackYetAreNotLateIfTheyAnswer) {
  placement_.RollBack(3);
  late_nodes_.Watch();
  for (Duration time{}; time < kReading; time += kMoment) {
    loop_.RunUntilTime(loop_.Now() + kMoment);
    Answer(0, 1);
    Answer(1, 0);
  }
  EXPECT_THAT(late_, IsEmpty());
  EXPECT_THAT(placement_.Unsettled(), ElementsAre(1));
  Answer(1, 1);
  EXPECT_TRUE(placement_.settled());
}

}  // namespace
}  // namespace motley
