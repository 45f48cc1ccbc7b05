// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/trial_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace motley {
namespace {

using testing::HasSubstr;

TEST(TrialEnd, ReadsTheLossesOfATrialThatWasTrained) {
  const TrialEnd end =
      EndOfTrial({}, R"({"steps": 9, "judging": {"best_loss": 0.25}, "test_accuracy": 0.5})", "");
  EXPECT_EQ(end.verdict, TrialVerdict::kTrained);
  EXPECT_EQ(end.loss, 0.25);
  EXPECT_EQ(end.test_accuracy, 0.5);
  EXPECT_FALSE(end.test_loss.has_value());
  EXPECT_EQ(end.error, "");
  EXPECT_TRUE(end.whole);
  EXPECT_FALSE(
      EndOfTrial({}, R"({"judging": {"best_loss": 0.25}, "not_tested": "stopped"})", "").whole);
}

TEST(TrialEnd, ALostCheckpointIsSaidByTheKindAlone) {
  const auto lost = [](const char* output) {
    return EndOfTrial({1, 0}, output, "motley: checkpoint").lost_checkpoint;
  };
  EXPECT_TRUE(lost(R"({"error": {"kind": "checkpoint", "message": "it is damaged"}})"));
  EXPECT_FALSE(lost(R"({"error": {"kind": "data", "message": "checkpoint.csv:3: no number"}})"));
  EXPECT_FALSE(lost(R"({"error": {"kind": "other", "message": "cannot open the checkpoint"}})"));
  EXPECT_FALSE(lost(""));
}

TEST(TrialEnd, OnlyDivergenceAndRefusalsBelongToTheValues) {
  const struct {
    ProcessExit exit;
    const char* output;
    const char* last_error;
    TrialVerdict verdict;
    const char* error;
  } cases[] = {
      {{1, 0},
       R"({"error": {"kind": "diverged", "message": "no longer finite"}, "steps": 3})",
       "motley: the model was not saved",
       TrialVerdict::kDiverged,
       "no longer finite"},
      {{1, 0},
       R"({"error": {"kind": "data", "message": "training diverged.csv:3: no number"}})",
       "",
       TrialVerdict::kDisturbed,
       "no number"},
      {{2, 0}, "", "motley: --lr: use a number", TrialVerdict::kRefused, "--lr: use a number"},
      {{0, 0}, R"({"steps": 3})", "", TrialVerdict::kRefused, "not judged"},
      // The disk is full: the job is done, and its model is not saved.
      {{1, 0},
       R"({"steps": 3, "judging": {"best_loss": 0.25}})",
       "motley: the model was not saved",
       TrialVerdict::kDisturbed,
       "was not saved"},
      {{1, 0},
       R"({"error": {"exit_code": 1, "message": "a.csv:3: no number"}})",
       "",
       TrialVerdict::kDisturbed,
       "a.csv:3"},
      {{1, 0},
       R"({"error": {"message": "its job had diverged"}})",
       "",
       TrialVerdict::kDisturbed,
       "had diverged"},
      {{3, 0}, "", "motley: there is no file a.csv", TrialVerdict::kDisturbed, "no file a.csv"},
      {{4, 0}, "", "motley: all workers are gone", TrialVerdict::kDisturbed, "workers are gone"},
      {{143, 0},
       R"({"error": {"message": "signal 15: cancelled"}, "steps": 2})",
       "",
       TrialVerdict::kDisturbed,
       "signal 15"},
      {{0, 9}, "", "motley: a notice", TrialVerdict::kDisturbed, "it ended by signal 9"},
      {{1, 0}, "", "", TrialVerdict::kDisturbed, "it ended with exit code 1"},
  };
  for (const auto& each : cases) {
    const TrialEnd end = EndOfTrial(each.exit, each.output, each.last_error);
    EXPECT_EQ(end.verdict, each.verdict) << each.error;
    EXPECT_THAT(end.error, HasSubstr(each.error));
    EXPECT_TRUE(std::isinf(end.loss));
  }
}

TEST(TrialEnd, TheSweepEndsWithTheCodeOfTheTrial) {
  EXPECT_EQ(ErrorOfSweep({3, 0}, "x").code(), StatusCode::kNotFound);
  EXPECT_EQ(ErrorOfSweep({5, 0}, "x").code(), StatusCode::kPermission);
  EXPECT_EQ(ErrorOfSweep({1, 0}, "x").code(), StatusCode::kResource);
  EXPECT_EQ(ErrorOfSweep({0, 9}, "x").message(), "x");
  EXPECT_FALSE(ErrorOfSweep({143, 0}, "x").ok());
}

}  // namespace
}  // namespace motley
