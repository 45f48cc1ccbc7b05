// SPDX-License-Identifier: Apache-2.0
#include "planner/step_schemes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "coding/decode/decoder.h"
#include "coding/decode/partial_code.h"
#include "coding/gradient_code.h"
#include "coding/placement/placement.h"
#include "planner/job_rows.h"
#include "planner/step_model.h"
#include "tests/planner/account_checker.h"
#include "tests/scheduler/step/lease_checker.h"

namespace motley {
namespace {

using Vectors = std::vector<AccountChecker::Vector>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Workers as the policy believes them to be, and as they are.
struct World {
  SchemeRequest request;
  StepModelOptions truth;
};

World RandomWorld(uint64_t seed, uint32_t copies) {
  Random random(seed, Stream::kTest, 7);
  World world;
  const auto n = static_cast<uint32_t>(copies + 1 + random.Below(10));
  world.request.partitions = n * static_cast<uint32_t>(1 + random.Below(12));
  world.request.copies = copies;
  world.request.seed = seed;
  const double latency = 0.3 * std::exp(-8 * random.NextDouble());
  const double message = random.Chance(0.5) ? 0.01 * random.NextDouble() : 0;
  const bool alike = random.Chance(0.3);
  for (uint32_t w = 0; w < n; ++w) {
    StepWorker worker;
    const double speed = alike ? 1 : std::exp(3 * random.NextDouble());
    worker.seconds_per_partition = 1 / speed;
    worker.overhead_seconds = random.Chance(0.3) ? 0.1 : 0;
    worker.latency_seconds = latency;
    worker.message_seconds = message;
    worker.send_seconds = random.Chance(0.2) ? 0.05 : 0;
    world.request.workers.push_back(worker);
    ModelWorker truth;
    // The true speed differs from the predicted one by up to five times.
    truth.slowdown = std::exp(std::log(5.0) * (2 * random.NextDouble() - 1));
    world.truth.truth.push_back(truth);
  }
  world.truth.jitter = random.Chance(0.5) ? 0.2 : 0;
  world.truth.seed = seed;
  world.truth.notice_seconds = 0.02;
  return world;
}

void Kill(uint32_t count, uint64_t seed, World& world) {
  Random random(seed, Stream::kTest, 8);
  const uint64_t n = world.truth.truth.size();
  for (uint32_t dead = 0; dead < count; ++dead) {
    const uint64_t worker = random.Below(n);
    const bool at_once = random.Chance(0.3);
    world.truth.truth[worker].dies_at = at_once ? 0 : 6 * random.NextDouble();
  }
}

// True if every partition has a holder that never dies.
bool HeldByTheLiving(const StepSetting& setting, const World& world) {
  return std::all_of(setting.holders.begin(), setting.holders.end(), [&](const auto& holders) {
    return std::any_of(holders.begin(), holders.end(),
                       [&](WorkerId w) { return world.truth.truth[w].dies_at == kInfinity; });
  });
}

bool SomebodyLives(const World& world) {
  return std::any_of(world.truth.truth.begin(), world.truth.truth.end(),
                     [](const ModelWorker& worker) { return worker.dies_at == kInfinity; });
}

// --- Rows ---

// Judges by least squares, which does not know how the rows were made.
std::string JudgeForm(const CodeForm& form, const Vectors& vectors) {
  std::vector<bool> present(form.workers, false);
  for (const auto& vector : vectors) {
    const auto& row = form.rows[vector.row];
    present[vector.row] = true;
    if (!std::equal(row.begin(), row.end(), vector.partitions.begin(), vector.partitions.end(),
                    [](const CodeEntry& e, PartitionId p) { return e.partition == p; })) {
      return "a vector is not a whole row";
    }
  }
  const Result<DecodingVector> decoding = SolveGeneral(form, present, {.tolerance = 1});
  if (!decoding.ok()) return "the step ended with rows that do not decode";
  return DecodingResidual(form, decoding->a) < 1e-6 ? "" : "partitions do not count once each";
}

std::shared_ptr<const CodeForm> FormFor(const char* name, const SchemeRequest& request) {
  CodeRequest code;
  for (const StepWorker& worker : request.workers) {
    code.speeds.push_back(1 / worker.seconds_per_partition);
  }
  code.stragglers = request.copies - 1;
  code.partitions = request.partitions;
  code.seed = request.seed;
  Result<CodeForm> form = BuildCode(name, code);
  EXPECT_TRUE(form.ok()) << form.status().ToString();
  return form.ok() ? std::make_shared<const CodeForm>(std::move(*form)) : nullptr;
}

// Every worker is a member, also if it is absent.
Plan PlanOf(std::shared_ptr<const CodeForm> form) {
  Plan plan;
  plan.rows = RowLists(*form);
  plan.members.resize(form->owners());
  std::iota(plan.members.begin(), plan.members.end(), 0);
  plan.code = std::move(form);
  return plan;
}

// The setting of a scheme whose workers can be sent all data in that time.
StepSetting SettingOf(const StepScheme& scheme, double data_seconds) {
  StepSetting setting = *scheme.setting;
  setting.data_seconds = data_seconds;
  return setting;
}

double RunRows(const char* name, const World& world, uint64_t seed, double data_seconds) {
  const auto form = FormFor(name, world.request);
  const StepScheme scheme = SchemeOfPlan(name, PlanOf(form), world.request);
  const StepSetting setting = SettingOf(scheme, data_seconds);
  const auto policy = scheme.policy();
  AccountChecker checker(setting, *policy,
                         [&](const Vectors& vectors) { return JudgeForm(*form, vectors); });
  const StepOutcome outcome = RunStepModel(setting, checker, world.truth);
  EXPECT_THAT(checker.violations(), testing::IsEmpty()) << name << ", seed " << seed;
  return outcome.seconds;
}

class RowSchemes : public testing::TestWithParam<const char*> {};

TEST_P(RowSchemes, AreExactAndEndWhateverIsBelieved) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const bool copied = std::string_view(GetParam()) != "none";
    const auto copies = static_cast<uint32_t>(copied ? 1 + seed % 3 : 1);
    World world = RandomWorld(seed, copies);
    Kill(copies - 1, seed, world);
    EXPECT_LT(RunRows(GetParam(), world, seed, kInfinity), kInfinity) << "seed " << seed;
  }
}

// More workers are lost than the code tolerates. Others are sent the data of their rows.
TEST_P(RowSchemes, EndWhileSomebodyLives) {
  for (uint64_t seed = 1000; seed < 1080; ++seed) {
    const bool copied = std::string_view(GetParam()) != "none";
    World world = RandomWorld(seed, copied ? 2 + seed % 2 : 1);
    Kill(4, seed, world);
    if (!SomebodyLives(world)) continue;
    EXPECT_LT(RunRows(GetParam(), world, seed, 1), kInfinity) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, RowSchemes,
                         testing::Values("none", "repetition", "cyclic", "heterogeneous", "rs",
                                         "group"));

// The lost worker had half of the data. The other one is sent them after its own half.
TEST(Rows, WhatIsLostIsSentToAnotherWorker) {
  World world;
  world.request.partitions = 2;
  world.request.workers.resize(2);
  world.truth.truth.resize(2);
  world.truth.truth[0].dies_at = 0;
  EXPECT_EQ(RunRows("none", world, 0, kInfinity), kInfinity);
  EXPECT_NEAR(RunRows("none", world, 0, 5), 1 + 2.5 + 1, 1e-9);
}

TEST(Rows, AbsentWorkersAreMadeUpFor) {
  World world = RandomWorld(5, 2);
  for (WorkerId w = 0; w < 2; ++w) world.request.workers[w].live = false;
  EXPECT_LT(RunRows("cyclic", world, 5, 1), kInfinity);
}

// --- Schemes by name ---

double RunScheme(const char* name, const World& world) {
  const Result<StepScheme> scheme = MakeStepScheme(name, world.request);
  EXPECT_TRUE(scheme.ok()) << name << ": " << scheme.status().ToString();
  if (!scheme.ok()) return 0;
  const auto policy = scheme->policy();
  const double seconds = RunStepModel(SettingOf(*scheme, 1), *policy, world.truth).seconds;
  // Leases send no data.
  const bool can_end =
      SchemeNamed(name).leases() ? HeldByTheLiving(*scheme->setting, world) : SomebodyLives(world);
  EXPECT_TRUE(seconds < kInfinity || !can_end) << name;
  return seconds;
}

TEST(StepSchemes, NoneDeadlocks) {
  int ended = 0;
  for (const Scheme& kind : Schemes()) {
    if (kind.least_copies == 0) continue;  // Nobody plans with it.
    for (uint64_t seed = 0; seed < 80; ++seed) {
      SCOPED_TRACE(seed);
      const uint32_t copies = std::max<uint32_t>(kind.least_copies, 1 + seed % 3);
      World world = RandomWorld(seed, kind.keeps_copies ? copies : 1);
      world.request.by_speed = seed % 2 == 1;
      world.request.samples = world.request.partitions;
      Kill(static_cast<uint32_t>(seed % 4), seed, world);
      ended += RunScheme(kind.name, world) < kInfinity ? 1 : 0;
    }
  }
  EXPECT_GT(ended, 800);
}

TEST(StepSchemes, NamesAndNumbersThatDoNotFitAreRefused) {
  World world = RandomWorld(1, 2);
  EXPECT_EQ(MakeStepScheme("heterogenous", world.request).code(), StatusCode::kNotFound);
  EXPECT_EQ(MakeStepScheme("none", world.request).code(), StatusCode::kInvalidArgument);
  world.request.copies = 1;
  EXPECT_EQ(MakeStepScheme("repetition", world.request).code(), StatusCode::kInvalidArgument);
  world.request.copies = 2;
  world.request.partitions = 1;
  EXPECT_EQ(MakeStepScheme("adaptive", world.request).code(), StatusCode::kInvalidArgument);
}

TEST(StepSchemes, AShortCodesVectorsTakeLinksForLess) {
  World world = RandomWorld(2, 3);
  world.truth = {};
  world.truth.truth.resize(world.request.workers.size());
  for (StepWorker& worker : world.request.workers) {
    worker = {};
    worker.seconds_per_partition = 1e-6;
    worker.send_seconds = 1;
  }
  EXPECT_NEAR(RunScheme("short", world), 0.5, 0.01);
  EXPECT_NEAR(RunScheme("heterogeneous", world), 1, 0.01);
}

// --- Lists of rows ---

// A form of rows with one partition each.
Plan ListsOf(std::vector<std::vector<RowId>> lists, uint32_t partitions, uint32_t kept_parts) {
  CodeForm form;
  form.workers = form.partitions = partitions;
  form.rows.resize(partitions);
  for (PartitionId p = 0; p < partitions; ++p) form.rows[p] = {{p, 1}};
  form.lists = std::move(lists);
  form.kept_parts = kept_parts;
  Finish(form);
  return PlanOf(std::make_shared<const CodeForm>(std::move(form)));
}

TEST(ListsOfRows, EndOnceEveryRowCame) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    World world = RandomWorld(seed, 2);
    Kill(static_cast<uint32_t>(seed / 2 % 2), seed, world);
    world.request.by_speed = seed % 2 == 1;
    const Result<StepScheme> scheme = MakeStepScheme("multi-message", world.request);
    ASSERT_TRUE(scheme.ok()) << scheme.status().ToString();
    const auto policy = scheme->policy();
    const size_t rows = scheme->setting->holders.size();
    AccountChecker checker(*scheme->setting, *policy, [&](const Vectors& vectors) -> std::string {
      std::vector<bool> came(rows, false);
      for (const auto& vector : vectors) {
        if (vector.partitions.size() != 1) return "a vector is not a whole row";
        came[vector.partitions.front()] = true;
      }
      const bool all = std::find(came.begin(), came.end(), false) == came.end();
      return all ? "" : "a row is missing";
    });
    if (world.request.by_speed) checker.AllowRevokes();
    const StepOutcome outcome = RunStepModel(*scheme->setting, checker, world.truth);
    EXPECT_THAT(checker.violations(), testing::IsEmpty()) << "seed " << seed;
    EXPECT_LT(outcome.seconds, kInfinity) << seed;
  }
}

// The slow worker skips partitions that the fast one has done, and continues with others.
TEST(ListsOfRows, WhatCameIsNotComputedAgain) {
  SchemeRequest request;
  request.partitions = 20;
  request.workers.resize(2);
  request.workers[0].seconds_per_partition = 0.25;
  std::vector<std::vector<RowId>> lists(2);
  for (RowId row = 0; row < 20; ++row) {
    lists[0].push_back(row);
    lists[1].push_back(row < 4 ? row : 23 - row);
  }
  const Plan plan = ListsOf(lists, 20, 0);
  const auto seconds = [&](bool feedback) {
    request.by_speed = feedback;
    const StepScheme scheme = SchemeOfPlan("multi-message", plan, request);
    const auto policy = scheme.policy();
    return RunStepModel(*scheme.setting, *policy, {}).seconds;
  };
  EXPECT_NEAR(seconds(false), 5, 0.01);
  EXPECT_LT(seconds(true), 4.6);
}

// --- Rows that are kept ---

StepOutcome RunKept(const std::vector<std::vector<RowId>>& lists, const StepWorker& worker,
                    const StepModelOptions& options) {
  SchemeRequest request;
  request.partitions = static_cast<uint32_t>(lists.size());
  request.workers.assign(lists.size(), worker);
  request.by_speed = true;
  const StepScheme scheme =
      SchemeOfPlan("partial-coded", ListsOf(lists, request.partitions, 1), request);
  const auto policy = scheme.policy();
  return RunStepModel(*scheme.setting, *policy, options);
}

TEST(KeptRows, AnswersGiveEveryPart) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const auto copies = static_cast<uint32_t>(2 + seed % 3);
    World world = RandomWorld(seed, copies);
    world.request.by_speed = seed % 2 == 1;
    const Result<StepScheme> scheme = MakeStepScheme("partial-coded", world.request);
    ASSERT_TRUE(scheme.ok()) << scheme.status().ToString();
    const auto policy = scheme->policy();
    const auto workers = static_cast<uint32_t>(world.request.workers.size());
    const auto rows = static_cast<uint32_t>(scheme->setting->holders.size());
    const auto parts = static_cast<uint32_t>(std::lround(1 / policy->vector_fraction()));
    AccountChecker checker(*scheme->setting, *policy, [&](const Vectors& vectors) -> std::string {
      std::vector<std::vector<RowId>> finished(workers);
      for (const auto& vector : vectors) finished[vector.worker] = vector.partitions;
      const Result<PartialCode> code = MakePartialCode(workers, parts);
      const Result<PartialPlan> plan = PlanPartial(*code, rows, finished);
      if (!plan.ok()) return plan.status().ToString();
      return plan->squared_error < 1e-9 ? "" : "some part of a row is missing";
    });
    checker.AllowRevokes();
    const StepOutcome outcome = RunStepModel(*scheme->setting, checker, world.truth);
    EXPECT_THAT(checker.violations(), testing::IsEmpty()) << "seed " << seed;
    EXPECT_LT(outcome.seconds, kInfinity) << "seed " << seed;
  }
}

// Worker 0 finishes row 0, so worker 1 drops it. Then worker 0 is lost.
TEST(KeptRows, RowsThatALossTakesGoBackToTheWorkersThatDroppedThem) {
  const auto run = [&](double latency, double dies_at) {
    StepWorker worker;
    worker.latency_seconds = latency;
    StepModelOptions options;
    options.truth = {{1, dies_at}, {1}, {4}};
    return RunKept({{0, 2}, {1, 0}, {2, 1}}, worker, options).seconds;
  };
  // Worker 2 finishes row 2 after 4 s. Then it reports, is asked for its vector and sends it.
  EXPECT_NEAR(run(0.01, 1.5), 4.03, 1e-9);
  // The policy is notified of the loss before worker 1 answers that it dropped the row.
  EXPECT_NEAR(run(0.2, 1.3), 4.6, 1e-9);
}

// Worker 1 is half-way through its row when worker 0 has finished all rows.
TEST(KeptRows, WorkThatIsLeftCountsAsFarAsItWent) {
  StepWorker worker;
  worker.least_piece = 0.25;
  StepModelOptions options;
  options.truth = {{1}, {4}};
  const StepOutcome outcome = RunKept({{0, 1}, {1, 0}}, worker, options);
  EXPECT_EQ(outcome.seconds, 2);
  EXPECT_EQ(outcome.partitions, 2.5);
}

// --- Not exact ---

TEST(Approximate, EndsWithoutTheWorkersThatMayBeMissing) {
  World world;
  world.request.workers.resize(6);
  world.request.partitions = 6;
  world.request.copies = 2;
  world.truth.truth.resize(6);
  world.truth.truth[0].slowdown = 10;
  EXPECT_NEAR(RunScheme("approximate", world), 2, 1e-9);
  for (WorkerId w = 1; w < 6; ++w) world.truth.truth[w].slowdown = 5;
  EXPECT_NEAR(RunScheme("approximate", world), 10, 1e-9);
}

}  // namespace
}  // namespace motley
