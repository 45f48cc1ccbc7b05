// SPDX-License-Identifier: Apache-2.0
#include "runtime/fault_plan.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(FaultPlan, ReadsEveryKindOfFault) {
  const auto kill = ParseFault("kill:2@step=50");
  ASSERT_TRUE(kill.ok()) << kill.status().ToString();
  EXPECT_EQ(kill->kind, Fault::Kind::kKill);
  EXPECT_EQ(kill->worker, 2u);
  EXPECT_EQ(kill->step, 50u);

  const auto pause = ParseFault("pause:1@step=20,2s");
  ASSERT_TRUE(pause.ok()) << pause.status().ToString();
  EXPECT_EQ(pause->kind, Fault::Kind::kPause);
  EXPECT_EQ(pause->duration, std::chrono::seconds(2));

  const auto slow = ParseFault("slow:0@step=100,2.5x");
  ASSERT_TRUE(slow.ok()) << slow.status().ToString();
  EXPECT_EQ(slow->kind, Fault::Kind::kSlow);
  EXPECT_EQ(slow->factor, 2.5);

  const auto nan = ParseFault("nan:1@step=5");
  ASSERT_TRUE(nan.ok()) << nan.status().ToString();
  EXPECT_EQ(nan->kind, Fault::Kind::kNan);

  const auto lie = ParseFault("lie:1@step=5,-0.5x");
  ASSERT_TRUE(lie.ok()) << lie.status().ToString();
  EXPECT_EQ(lie->kind, Fault::Kind::kLie);
  EXPECT_EQ(lie->factor, -0.5);
}

TEST(FaultPlan, PausesTakeSecondsMillisecondsAndMicroseconds) {
  EXPECT_EQ(ParseFault("pause:1@step=0,1.5s")->duration, std::chrono::milliseconds(1500));
  EXPECT_EQ(ParseFault("pause:1@step=0,250ms")->duration, std::chrono::milliseconds(250));
  EXPECT_EQ(ParseFault("pause:1@step=0,70us")->duration, std::chrono::microseconds(70));
}

struct BadFault {
  const char* text;
  const char* says;  // Part of the message.
};

class FaultPlanRefuses : public testing::TestWithParam<BadFault> {};

TEST_P(FaultPlanRefuses, WithWhatIsWrongAndTheRightForm) {
  const auto fault = ParseFault(GetParam().text);
  ASSERT_FALSE(fault.ok());
  EXPECT_EQ(fault.code(), StatusCode::kInvalidArgument);
  const std::string message = fault.status().ToString();
  EXPECT_NE(message.find(GetParam().says), std::string::npos) << message;
  EXPECT_NE(message.find("the form is"), std::string::npos) << message;
  EXPECT_NE(message.find(GetParam().text), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Table, FaultPlanRefuses,
    testing::Values(
        BadFault{"", "no kind"}, BadFault{"kil:1@step=2", "did you mean 'kill'"},
        BadFault{"kill", "no worker"}, BadFault{"kill:", "no worker"},
        BadFault{"kill:x@step=2", "no worker"}, BadFault{"kill:-1@step=2", "no worker"},
        BadFault{"kill:1", "@step="}, BadFault{"kill:1@stop=2", "@step="},
        BadFault{"kill:1@step=", "no step"}, BadFault{"kill:1@step=2x", "no step"},
        BadFault{"kill:1@step=99999999999999999999", "no step"},
        BadFault{"kill:4294967296@step=1", "no worker"},
        BadFault{"kill:1@step=2,3s", "does not belong"},
        BadFault{"nan:1@step=2,", "does not belong"}, BadFault{"pause:1@step=2", "how long"},
        BadFault{"pause:1@step=2,3", "how long"}, BadFault{"pause:1@step=2,0s", "how long"},
        BadFault{"pause:1@step=2,3h", "how long"}, BadFault{"pause:1@step=2,-3s", "how long"},
        BadFault{"pause:1@step=2,1e9s", "how long"}, BadFault{"pause:1@step=2,1.2.3s", "how long"},
        BadFault{"pause:1@step=2,100000s", "how long"}, BadFault{"slow:1@step=2", "how many times"},
        BadFault{"slow:1@step=2,5", "how many times"},
        BadFault{"slow:1@step=2,0x", "how many times"},
        BadFault{"lie:1@step=2", "what answers are multiplied with"},
        BadFault{"lie:1@step=2,nanx", "what answers are multiplied with"},
        BadFault{"lie:1@step=2,1e9x", "what answers are multiplied with"},
        BadFault{"slow:1@step=2,nanx", "how many times"},
        BadFault{"slow:1@step=2,infx", "how many times"}));

TEST(FaultPlan, WhatIsFormattedIsReadBackTheSame) {
  for (const char* text : {"kill:2@step=50", "pause:1@step=20,2s", "pause:1@step=20,1500ms",
                           "pause:0@step=3,70us", "slow:0@step=100,5x", "slow:0@step=100,0.25x",
                           "nan:11@step=0", "lie:1@step=5,-0.5x", "lie:1@step=5,0x"}) {
    const auto fault = ParseFault(text);
    ASSERT_TRUE(fault.ok()) << fault.status().ToString();
    EXPECT_EQ(FormatFault(*fault), text);
  }
}

TEST(FaultPlan, WorkersAndStepsThatDoNotExistAreNamed) {
  const std::vector<Fault> faults = {*ParseFault("kill:3@step=9")};
  EXPECT_TRUE(CheckFaults(faults, 4, 10).ok());
  const Status worker = CheckFaults(faults, 3, 10);
  EXPECT_EQ(worker.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(worker.message().find("no worker 3"), std::string::npos) << worker.message();
  const Status step = CheckFaults(faults, 4, 9);
  EXPECT_EQ(step.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(step.message().find("step 9 is never reached"), std::string::npos) << step.message();
}

}  // namespace
}  // namespace motley
