// SPDX-License-Identifier: Apache-2.0
// Wrong answers from a hand-written worker beside honest ones.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "runtime/links/messages.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

// Softmax of 7 features and 4 classes.
constexpr size_t kLength = 32;

class BadAnswers : public testing::Test {
 protected:
  BadAnswers() : world(JobWorld::Options(3, "none")) {
    world.StartServer();
    fake = std::make_unique<FakeWorker>(world, 77);
    fake->Join(2);
    EXPECT_TRUE(world.RunUntil([&] { return fake->accept.has_value(); }));
    fake->Introduce();
    for (int i = 0; i < 2; ++i) world.StartWorker(i);
  }

  // The job must end well and with the right model, whatever the fake worker sent.
  void ExpectRightModel() {
    const JobResult& result = world.Run();
    ASSERT_TRUE(result.status.ok()) << result.status.ToString();
    const std::vector<double> serial = world.SerialParameters();
    for (size_t i = 0; i < serial.size(); ++i)
      EXPECT_NEAR(result.parameters->at(i), serial[i], 2e-5);
  }
  // The first answer is bad in one way. Then the worker dies.
  void ExpectRefused(size_t length, const std::function<void(Header&)>& change,
                     const std::string& words) {
    fake->on_order = [this, length, change](const wire::OrderT& order) {
      fake->Answer(order, length, 0.5f, change);
    };
    ASSERT_TRUE(world.RunUntil([&] { return !fake->errors.empty(); }));
    EXPECT_EQ(StatusOf(fake->errors[0]).code(), StatusCode::kDataError);
    EXPECT_NE(fake->errors[0].message.find("worker 2 (fake)"), std::string::npos);
    EXPECT_NE(fake->errors[0].message.find(words), std::string::npos) << fake->errors[0].message;
    ExpectRightModel();
    EXPECT_GE(world.result->scheduler.workers[2].rejected, 1u);
    ExpectRefused(words);
  }

  // Expects that an answer was refused for this reason.
  void ExpectRefused(const std::string& why) {
    std::string all;
    for (const auto& refused : Only<notice::Refused>(world.watcher.scheduler_notices)) {
      all += refused.why.ToString() + "\n";
    }
    EXPECT_NE(all.find(why), std::string::npos) << all;
  }

  JobWorld world;
  std::unique_ptr<FakeWorker> fake;
};

TEST_F(BadAnswers, OfAWrongLengthAreRefused) { ExpectRefused(30, nullptr, "length 30 where 32"); }

TEST_F(BadAnswers, LongerThanTheModelAreRefused) {
  ExpectRefused(36, nullptr, "length 36 where 32");
}

TEST_F(BadAnswers, AtAnOffsetBetweenSlicesAreRefused) {
  ExpectRefused(
      kLength, [](Header& header) { header.offset += 2; }, "slices start every 6");
}

TEST_F(BadAnswers, BeyondTheEndAreRefused) {
  ExpectRefused(
      kLength, [](Header& header) { header.offset = ~uint64_t{0} / 6 * 6; }, "slice at");
}

TEST_F(BadAnswers, ForARowThatWasNotAssignedAreRefused) {
  ExpectRefused(
      kLength, [](Header& header) { header.row_id = 4'000'000'000; }, "not assigned");
}

TEST_F(BadAnswers, ForAStepToComeAreRefused) {
  ExpectRefused(
      kLength, [](Header& header) { header.step += 5; }, "not assigned");
}

TEST_F(BadAnswers, OfOtherParametersAreRefused) {
  ExpectRefused(
      kLength, [](Header& header) { header.version += 1; }, "version");
}

TEST_F(BadAnswers, WithANegativeNormAreRefused) {
  ExpectRefused(
      kLength, [](Header& header) { header.norm = -1; }, "norm");
}

TEST_F(BadAnswers, WithoutANormAreRefusedBeforeTheyAreRead) {
  ExpectRefused(
      kLength, [](Header& header) { header.norm = std::numeric_limits<double>::quiet_NaN(); },
      "norm");
}

TEST_F(BadAnswers, ThatBelieTheirNormAreRefused) {
  ExpectRefused(
      kLength, [](Header& header) { header.norm /= 100; }, "");
}

TEST_F(BadAnswers, ThatBelieTheirNormHalfWayMakeTheStepStartAgain) {
  ExpectRefused(
      kLength,
      [](Header& header) {
        if (header.offset == 12) header.norm = 1e-3;
      },
      "");
  EXPECT_EQ(world.result->scheduler.steps_restarted, 1u);
}

// The weight of answers shows a worker that leaves out samples or takes one twice.
TEST_F(BadAnswers, OfOtherSamplesAreRefused) {
  ExpectRefused(
      kLength, [](Header& header) { header.tally.weight += 1; }, "missing or count twice");
}

TEST_F(BadAnswers, OfImaginarySamplesAreRefused) {
  ExpectRefused(
      kLength, [](Header& header) { header.tally.weight += std::complex<double>(0, 1); },
      "missing or count twice");
}

TEST_F(BadAnswers, WhoseLossOrWeightIsNotFiniteAreRefused) {
  int sent = 0;
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ExpectRefused(
      kLength,
      [&](Header& header) {
        if (sent++ % 2 == 0) header.tally.loss = {0, nan};
        header.tally.weight = {inf, 0};
      },
      "cannot be summed");
}

// A sketch shows slices that changed places and wrong signs.
TEST_F(BadAnswers, ThatBelieTheirSketchAreRefused) {
  ExpectRefused(
      kLength, [](Header& header) { header.sketch += 0.5; }, "slice 0 of row");
  EXPECT_NE(fake->errors[0].message.find("has sketch"), std::string::npos);
  EXPECT_EQ(world.result->scheduler.steps_restarted, 0u);
}

TEST_F(BadAnswers, ThatBelieTheirSketchHalfWayMakeTheStepStartAgain) {
  ExpectRefused(
      kLength,
      [](Header& header) {
        if (header.offset == 12) header.sketch = -header.sketch - 1;
      },
      "has sketch");
  EXPECT_EQ(world.result->scheduler.steps_restarted, 1u);
}

TEST_F(BadAnswers, WithSlicesMissingAreRefusedAtTheirEnd) {
  fake->on_order = [this](const wire::OrderT& order) { fake->Finish(order); };
  ExpectRightModel();
  EXPECT_GE(world.result->scheduler.workers[2].rejected, 1u);
  ExpectRefused("0 of 6 slices");
}

TEST_F(BadAnswers, OfAFencedIncarnationChangeNothing) {
  int sent = 0;
  fake->on_order = [&](const wire::OrderT& order) {
    ++sent;
    fake->Answer(order, kLength, 1e20f, [](Header& header) { header.incarnation = 76; });
    fake->Answer(order, kLength, 1e20f, [](Header& header) { header.job ^= 1; });
  };
  ExpectRightModel();
  EXPECT_GE(sent, 1);
  EXPECT_EQ(world.watcher.rows_of[2], 0);
  EXPECT_EQ(world.result->scheduler.workers[2].rejected, 0u);
}

TEST_F(BadAnswers, ForAStepThatIsOverChangeNothing) {
  std::optional<wire::OrderT> first;
  fake->on_order = [&](const wire::OrderT& order) {
    if (!first) first = order;
  };
  ASSERT_TRUE(world.RunUntil([&] { return world.watcher.applied >= 3; }));
  ASSERT_TRUE(first);
  fake->Answer(*first, kLength, 1e20f);
  fake->Finish(*first);
  ExpectRightModel();
  EXPECT_EQ(world.result->scheduler.workers[2].rejected, 0u);
  EXPECT_TRUE(fake->errors.empty());
}

TEST_F(BadAnswers, EndingWorkThatWasNotGivenEndsTheConnection) {
  fake->on_order = [&](wire::OrderT order) {
    order.order += 100;
    fake->Finish(order);
  };
  ExpectRightModel();
  EXPECT_TRUE(fake->lost);
  ASSERT_EQ(fake->errors.size(), 1u);
  EXPECT_NE(fake->errors[0].message.find("not assigned"), std::string::npos);
}

TEST_F(BadAnswers, WhatOnlyAServerSendsEndsTheConnection) {
  fake->Say(wire::CancelT());
  ExpectRightModel();
  EXPECT_EQ(world.watcher.lost.count(2), 1u);
}

TEST_F(BadAnswers, AParametersFrameEndsTheConnection) {
  Header header = fake->OwnHeader();
  header.kind = FrameKind::kParameters;
  header.total = 32;
  fake->Deliver(header, std::make_shared<Bytes>(Bytes(24)), Priority::kBulk);
  ExpectRightModel();
  EXPECT_EQ(world.watcher.lost.count(2), 1u);
}

TEST_F(BadAnswers, AnEmptySliceIsRefused) {
  fake->on_order = [&](const wire::OrderT& order) {
    Header header = fake->OwnHeader();
    header.kind = FrameKind::kGradient;
    header.step = header.version = order.step;
    header.row_id = order.order;
    header.total = kLength;
    fake->Deliver(header, std::make_shared<Bytes>(), Priority::kBulk);
  };
  ExpectRightModel();
  EXPECT_GE(world.result->scheduler.workers[2].rejected, 1u);
}

TEST_F(BadAnswers, LeavingIsALossWithItsReason) {
  wire::LeaveT leave;
  leave.reason = "out of memory";
  fake->Say(std::move(leave));
  ExpectRightModel();
  ASSERT_EQ(world.watcher.lost.count(2), 1u);
  EXPECT_NE(world.watcher.lost.at(2).message().find("out of memory"), std::string::npos);
}

TEST_F(BadAnswers, WhatAWorkerReportsIsPassedOn) {
  fake->Say(ErrorMessage(Status::Resource("no memory for a block"), 0));
  ExpectRightModel();
  const auto reported = Only<notice::Reported>(world.watcher.notices);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].worker, 2u);
  EXPECT_EQ(reported[0].what.ToString(), "no memory for a block");
}

// Each refusal is a message. Unread refusals would pile up at the server.
TEST_F(BadAnswers, ThatNobodyAskedForAreRefusedOnlySoOften) {
  wire::OrderT made_up;
  made_up.step = 1'000'000;
  for (int i = 0; i < 200; ++i) fake->Answer(made_up, 2, 0.5f);
  ASSERT_TRUE(world.RunUntil([&] { return fake->leave.has_value(); }));
  EXPECT_LT(fake->errors.size(), 100u);
  EXPECT_NE(fake->leave->reason.find("bad messages"), std::string::npos) << fake->leave->reason;
  ExpectRightModel();
}

// A worker reports the nodes that it reaches. The server may have chosen the star meanwhile.
class LateReports : public BadAnswers {};

TEST_F(LateReports, OfNodesThatAreReachedAreForgiven) {
  ASSERT_TRUE(world.RunUntil([&] { return !fake->assigned.empty(); }));
  fake->Say(wire::ShardReachedT());
  fake->Answer(fake->assigned[0], kLength, 0.5f);
  fake->Finish(fake->assigned[0]);
  ASSERT_TRUE(world.RunUntil([&] { return world.watcher.applied > 0; }));
  EXPECT_FALSE(fake->leave) << fake->leave->reason;
  EXPECT_FALSE(fake->lost);
}

}  // namespace
}  // namespace motley
