// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "coding/gradient_code.h"

namespace motley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SchedulerOptions Options(const std::string& code, uint32_t tolerate, uint32_t partitions) {
  SchedulerOptions options;
  options.workers = 4;
  options.partitions = partitions;
  options.code = code;
  options.tolerate = tolerate;
  options.batch = partitions;  // One sample per partition: loads are samples.
  return options;
}

Plan Made(const SchedulerOptions& options, const std::vector<double>& speeds) {
  std::vector<WorkerId> members(speeds.size());
  std::iota(members.begin(), members.end(), 0u);
  Result<Plan> plan = MakePlan(options, members, speeds);
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  return plan.ok() ? *plan : Plan{};
}

std::vector<size_t> Loads(const Plan& plan) {
  std::vector<size_t> loads;
  for (size_t i = 0; i < plan.members.size(); ++i) loads.push_back(plan.LoadOf(i));
  return loads;
}

TEST(Plan, SharesFollowTheSpeedsWithoutACode) {
  const Plan plan = Made(Options("none", 1, 22), {4, 4, 2, 1});
  EXPECT_EQ(Loads(plan), (std::vector<size_t>{8, 8, 4, 2}));
  EXPECT_DOUBLE_EQ(plan.step_seconds, 2);
  EXPECT_FALSE(plan.compromise);
}

TEST(Plan, EqualSharesIgnoreTheSpeeds) {
  SchedulerOptions options = Options("none", 1, 24);
  options.shares = Shares::kEqual;
  const Plan plan = Made(options, {4, 4, 2, 1});
  EXPECT_EQ(Loads(plan), (std::vector<size_t>{6, 6, 6, 6}));
  EXPECT_DOUBLE_EQ(plan.step_seconds, 6);
}

// Wang et al. 2019: with n_i = (s + 1) k c_i / sum(c), every worker takes (s + 1) k / sum(c).
TEST(Plan, CodedLoadsReachTheOptimumOfThePaper) {
  for (const char* code : {"heterogeneous", "repetition"}) {
    const Plan plan = Made(Options(code, 1, 48), {2, 2, 4, 4, 8, 8, 8, 12});
    EXPECT_NEAR(plan.step_seconds, 2.0, 0.1) << code;
    EXPECT_EQ(plan.code->stragglers, 1u);
  }
}

TEST(Plan, PredictionSkipsTheRowsThatAreNotNeeded) {
  CodeRequest request;
  request.speeds = {1, 1, 1, 1};
  request.stragglers = 1;
  request.partitions = 8;
  for (const char* name : {"rs", "cyclic"}) {
    const Result<CodeForm> code = BuildCode(name, request);
    ASSERT_TRUE(code.ok());
    EXPECT_DOUBLE_EQ(PredictStepSeconds(*code, {1, 1, 1, 0.01}, 1), 4) << name;
    EXPECT_DOUBLE_EQ(PredictStepSeconds(*code, {1, 1, 0.1, 0.01}, 1), 40) << name;
  }
  const Result<CodeForm> copies = BuildCode("repetition", request);
  ASSERT_TRUE(copies.ok());
  // Groups {0, 2} and {1, 3}: one answer of each is enough.
  EXPECT_DOUBLE_EQ(PredictStepSeconds(*copies, {1, 0.01, 0.01, 1}, 1), 4);
  const Result<CodeForm> none = BuildCode("none", {request.speeds, 0, 8, 0});
  ASSERT_TRUE(none.ok());
  EXPECT_DOUBLE_EQ(PredictStepSeconds(*none, {1, 1, 1, 0.01}, 1), 200);
}

TEST(Plan, PredictionOfListsSkipsWhatOthersDid) {
  CodeForm form;
  form.workers = 4;
  form.partitions = 8;
  form.stragglers = 1;
  for (PartitionId p = 0; p < 8; p += 2) form.rows.push_back({{p, 1}, {p + 1, 1}});
  form.lists = {{0, 1, 3, 2}, {2, 3, 1, 0}};
  ASSERT_TRUE(Validate(form).ok());
  EXPECT_DOUBLE_EQ(PredictStepSeconds(form, {1, 1}, 1), 4) << "two rows each, no copy";
  // Worker 0 takes six seconds for three rows. Worker 1 is at its third row when only row 2 is
  // left.
  EXPECT_DOUBLE_EQ(PredictStepSeconds(form, {1, 0.25}, 1), 8);
  EXPECT_DOUBLE_EQ(PredictStepSeconds(form, {1, 0.3}, 1), 2 / 0.3);
  // A worker whose row another completes goes on with its next row.
  form.lists = {{0, 1, 2, 3}, {0, 3, 2, 1}};
  EXPECT_DOUBLE_EQ(PredictStepSeconds(form, {1, 0.5}, 1), 6);
}

TEST(Plan, MessagesAreFewWhereABatchIsSmall) {
  SchedulerOptions options = Options("multi-message", 1, 64);
  options.batch = 4096;
  EXPECT_EQ(Made(options, {1, 1, 1, 1}).code->workers, 12u);
  options.batch = 64;
  EXPECT_EQ(Made(options, {1, 1, 1, 1}).code->workers, 8u) << "four messages of eight samples";
  options.batch = 8;
  const Plan least = Made(options, {1, 1, 1, 1});
  EXPECT_EQ(least.code->workers, 4u);
  EXPECT_EQ(Loads(least), (std::vector<size_t>{32, 32, 32, 32}));
}

TEST(Plan, ToleratesFewerWhenFewAreLeft) {
  const Plan two = Made(Options("rs", 2, 24), {1, 1});
  EXPECT_EQ(two.code->stragglers, 1u);
  EXPECT_EQ(two.compromise, Compromise(notice::ToleratesFewer{2, "rs", 1, 2}));
  const Plan one = Made(Options("rs", 2, 24), {1});
  EXPECT_EQ(one.code->stragglers, 0u);
  EXPECT_EQ(Loads(one), (std::vector<size_t>{24}));
}

TEST(Plan, WhenFewAreLeftAnswersGetLongerBeforeFewerMayBeMissing) {
  SchedulerOptions options = Options("short", 1, 12);
  options.parts = 3;
  const Plan whole = Made(options, {1, 1, 1, 1});
  EXPECT_EQ(whole.code->parts, 3u);
  EXPECT_FALSE(whole.compromise);
  const Plan fewer = Made(options, {1, 1, 1});
  EXPECT_EQ(fewer.code->name, "short");
  EXPECT_EQ(fewer.code->parts, 2u);
  EXPECT_EQ(fewer.code->stragglers, 1u);
  EXPECT_EQ(fewer.compromise, Compromise(notice::FewerParts{3, 2, 3}));
  EXPECT_EQ(Made(options, {1}).code->stragglers, 0u);
}

TEST(Plan, WorkersTooSlowForOnePartitionGetNoRow) {
  const Plan plan = Made(Options("none", 1, 8), {1000, 1000, 0.001, 1000});
  EXPECT_EQ(plan.members, (std::vector<WorkerId>{0, 1, 3}));
  EXPECT_THAT(plan.RowsOf(3), ElementsAre(2));
  EXPECT_TRUE(plan.RowsOf(2).empty());
  EXPECT_TRUE(plan.RowsOf(77).empty());
}

TEST(Plan, MoreWorkersThanPartitionsLeaveTheSlowestOut) {
  const Plan plan = Made(Options("none", 1, 2), {1, 3, 2});
  EXPECT_EQ(plan.members, (std::vector<WorkerId>{1, 2}));
}

TEST(Plan, AnUnknownCodeFallsBackToNoneAndSaysWhy) {
  const Plan plan = Made(Options("no-such-code", 1, 8), {1, 1});
  EXPECT_EQ(plan.code->name, "none");
  ASSERT_TRUE(plan.compromise);
  const auto* other = std::get_if<notice::OtherCode>(&*plan.compromise);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->code, "none");
  EXPECT_THAT(other->why, HasSubstr("no-such-code"));
}

TEST(Plan, FollowsSpeedsExactlyWhenItsLoadsDo) {
  for (const Scheme& code : CodedSchemes()) {
    const Plan even = Made(Options(code.name, 1, 48), {1, 1, 1, 1});
    const Plan uneven = Made(Options(code.name, 1, 48), {4, 4, 2, 2});
    EXPECT_EQ(uneven.code->name, code.name);
    EXPECT_EQ(uneven.FollowsSpeeds(), Loads(uneven) != Loads(even)) << code.name;
  }
}

TEST(Plan, NewPlansNeedAGainThatPaysTheTransfersBack) {
  ReplanCase numbers;
  numbers.current_seconds = 1;
  numbers.fresh_seconds = 0.95;
  numbers.remaining_steps = 1000;
  EXPECT_FALSE(WorthReplanning(numbers)) << "5 % is noise";
  numbers.fresh_seconds = 0.8;
  EXPECT_TRUE(WorthReplanning(numbers));
  numbers.moved_seconds = 0.9;
  numbers.remaining_steps = 5;
  EXPECT_FALSE(WorthReplanning(numbers)) << "the job ends before it pays";
  numbers.remaining_steps = 50;
  EXPECT_TRUE(WorthReplanning(numbers));
  numbers.transfer_seconds = 20;
  EXPECT_FALSE(WorthReplanning(numbers)) << "ten seconds are gained, and twenty go for data";
  numbers.current_seconds = std::numeric_limits<double>::infinity();
  numbers.remaining_steps = 1;
  EXPECT_TRUE(WorthReplanning(numbers)) << "as it is it does not run at all";
  numbers.fresh_seconds = numbers.current_seconds;
  EXPECT_FALSE(WorthReplanning(numbers));
}

}  // namespace
}  // namespace motley
