// SPDX-License-Identifier: Apache-2.0
#include "planner/step_schemes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"
#include "coding/decode/decoder.h"
#include "coding/decode/partial_code.h"
#include "coding/gradient_code.h"
#include "planner/step_model.h"
#include "scheduler/step/approximate_step.h"
#include "scheduler/step/each_step.h"
#include "scheduler/step/partial_step.h"
#include "scheduler/step/row_step.h"
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

// --- Rows ---

// Sets `present` to the rows that the vectors make up. Several vectors may make up a lost worker's
// row, from disjoint parts.
std::string RowsOf(const Vectors& vectors, const RowCode& code, std::vector<bool>& present) {
  std::vector<std::multiset<PartitionId>> parts(code.rows.size());
  for (const auto& vector : vectors) {
    parts[vector.row].insert(vector.partitions.begin(), vector.partitions.end());
  }
  present.assign(code.rows.size(), false);
  for (RowId row = 0; row < code.rows.size(); ++row) {
    const std::multiset<PartitionId> whole(code.rows[row].begin(), code.rows[row].end());
    if (!std::includes(whole.begin(), whole.end(), parts[row].begin(), parts[row].end())) {
      return "a row has a partition twice, or one that is not its own";
    }
    present[row] = !whole.empty() && parts[row] == whole;
  }
  return "";
}

// Judges by least squares, which does not know how the rows were made.
std::string JudgeForm(const CodeForm& form, const RowCode& code, const Vectors& vectors) {
  std::vector<bool> present;
  std::string wrong = RowsOf(vectors, code, present);
  if (!wrong.empty()) return wrong;
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

struct Checked {
  double seconds = 0;
  bool held = false;  // Every partition has a holder that never dies.
};

Checked RunRows(const char* name, const World& world, uint64_t seed) {
  const auto form = FormFor(name, world.request);
  const auto code = std::make_shared<const RowCode>(RowCodeOf(form));
  const auto setting =
      std::make_shared<const StepSetting>(StepSetting{world.request.workers, HoldersOf(*code)});
  RowStep policy(setting, code);
  AccountChecker checker(*setting, policy,
                         [&](const Vectors& vectors) { return JudgeForm(*form, *code, vectors); });
  const StepOutcome outcome = RunStepModel(*setting, checker, world.truth);
  EXPECT_THAT(checker.violations(), testing::IsEmpty()) << name << ", seed " << seed;
  return {outcome.seconds, HeldByTheLiving(*setting, world)};
}

class RowSchemes : public testing::TestWithParam<const char*> {};
class CopiedRows : public RowSchemes {};

TEST_P(RowSchemes, AreExactAndEndWhateverIsBelieved) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const bool copied = std::string_view(GetParam()) != "none";
    const auto copies = static_cast<uint32_t>(copied ? 1 + seed % 3 : 1);
    World world = RandomWorld(seed, copies);
    Kill(copies - 1, seed, world);
    EXPECT_LT(RunRows(GetParam(), world, seed).seconds, kInfinity) << "seed " << seed;
  }
}

// More workers are lost than the code tolerates. Other workers compute their rows as long as all
// partitions have a holder.
TEST_P(CopiedRows, EndWhileEveryPartitionIsHeld) {
  int beyond = 0;
  for (uint64_t seed = 1000; seed < 1080; ++seed) {
    World world = RandomWorld(seed, 2 + seed % 2);
    Kill(4, seed, world);
    const Checked run = RunRows(GetParam(), world, seed);
    if (!run.held) continue;
    ++beyond;
    EXPECT_LT(run.seconds, kInfinity) << "seed " << seed;
  }
  EXPECT_GT(beyond, 5);
}

INSTANTIATE_TEST_SUITE_P(Codes, CopiedRows,
                         testing::Values("repetition", "cyclic", "heterogeneous", "rs", "group"));
INSTANTIATE_TEST_SUITE_P(Codes, RowSchemes,
                         testing::Values("none", "repetition", "cyclic", "heterogeneous", "rs",
                                         "group"));

TEST(RowStep, WithoutAHolderTheStepDoesNotEnd) {
  World world = RandomWorld(3, 1);
  world.truth.truth[0].dies_at = 0;
  EXPECT_EQ(RunRows("none", world, 3).seconds, kInfinity);
}

TEST(RowStep, WhoIsAbsentFromTheStartIsMadeUpFor) {
  World world = RandomWorld(5, 2);
  for (WorkerId w = 0; w < 2; ++w) world.request.workers[w].live = false;
  const auto form = FormFor("cyclic", world.request);
  const auto code = std::make_shared<const RowCode>(RowCodeOf(form));
  const auto setting =
      std::make_shared<const StepSetting>(StepSetting{world.request.workers, HoldersOf(*code)});
  RowStep policy(setting, code);
  const StepOutcome outcome = RunStepModel(*setting, policy, world.truth);
  // The two workers are neighbours in a cyclic code, so partitions that only they held are gone.
  EXPECT_EQ(outcome.seconds < kInfinity, HeldByTheLiving(
                                             *setting,
                                             [&] {
                                               World dead = world;
                                               for (WorkerId w = 0; w < 2; ++w)
                                                 dead.truth.truth[w].dies_at = 0;
                                               return dead;
                                             }()));
}

// --- Schemes by name ---

Checked RunScheme(const char* name, const World& world) {
  const Result<StepScheme> scheme = MakeStepScheme(name, world.request);
  EXPECT_TRUE(scheme.ok()) << name << ": " << scheme.status().ToString();
  if (!scheme.ok()) return {};
  const auto policy = scheme->policy();
  const StepOutcome outcome = RunStepModel(*scheme->setting, *policy, world.truth);
  return {outcome.seconds, HeldByTheLiving(*scheme->setting, world)};
}

TEST(StepSchemes, NoneDeadlocksWhileEveryPartitionIsHeld) {
  int runs = 0;
  for (const Scheme& kind : Schemes()) {
    if (kind.least_copies == 0) continue;  // Nobody plans with it.
    for (uint64_t seed = 0; seed < 80; ++seed) {
      const uint32_t copies = std::max<uint32_t>(kind.least_copies, 1 + seed % 3);
      World world = RandomWorld(seed, kind.keeps_copies ? copies : 1);
      world.request.by_speed = seed % 2 == 1;
      world.request.samples = world.request.partitions;
      Kill(static_cast<uint32_t>(seed % 4), seed, world);
      const Checked run = RunScheme(kind.name, world);
      if (!run.held) continue;
      ++runs;
      EXPECT_LT(run.seconds, kInfinity) << kind.name << ", seed " << seed;
    }
  }
  EXPECT_GT(runs, 400);
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
  EXPECT_NEAR(RunScheme("short", world).seconds, 0.5, 0.01);
  EXPECT_NEAR(RunScheme("heterogeneous", world).seconds, 1, 0.01);
}

// --- A vector for every few partitions ---

TEST(EachStep, EveryPartitionCountsOnceWhoeverIsFirst) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed, Stream::kTest, 9);
    World world = RandomWorld(seed, 2);
    Kill(static_cast<uint32_t>(random.Below(2)), seed, world);
    EachLists lists;
    lists.partitions = world.request.partitions;
    lists.skips = seed % 2 == 1;
    lists.size = lists.skips ? 1 : static_cast<uint32_t>(1 + random.Below(4));
    const uint32_t chunks = (lists.partitions + lists.size - 1) / lists.size;
    lists.chunks.resize(world.request.workers.size());
    StepSetting setting{world.request.workers, {}};
    setting.holders.resize(lists.partitions);
    for (PartitionId c = 0; c < chunks; ++c) {
      const auto first = static_cast<WorkerId>(random.Below(lists.chunks.size()));
      for (const WorkerId w : {first, static_cast<WorkerId>((first + 1) % lists.chunks.size())}) {
        lists.chunks[w].push_back(c);
        for (PartitionId p = c * lists.size; p < std::min((c + 1) * lists.size, lists.partitions);
             ++p) {
          setting.holders[p].push_back(w);
        }
      }
    }
    EachStep policy(std::make_shared<const StepSetting>(setting),
                    std::make_shared<const EachLists>(lists));
    AccountChecker checker(setting, policy, [&](const Vectors& vectors) -> std::string {
      std::vector<int> counted(lists.partitions, 0);
      for (const auto& vector : vectors) {
        const PartitionId chunk = vector.partitions.front() / lists.size;
        const uint32_t end = std::min((chunk + 1) * lists.size, lists.partitions);
        if (vector.partitions.size() != end - chunk * lists.size)
          return "a vector is not a whole chunk";
        if (policy.awarded()[chunk] != vector.worker) continue;
        for (const PartitionId p : vector.partitions) ++counted[p];
      }
      return std::all_of(counted.begin(), counted.end(), [](int n) { return n == 1; })
                 ? ""
                 : "a partition does not count exactly once";
    });
    if (lists.skips) checker.AllowRevokes();
    const StepOutcome outcome = RunStepModel(setting, checker, world.truth);
    EXPECT_THAT(checker.violations(), testing::IsEmpty()) << "seed " << seed;
    EXPECT_EQ(outcome.seconds < kInfinity || !HeldByTheLiving(setting, world), true) << seed;
  }
}

// The slow worker skips partitions that the fast one has done, and continues with others.
TEST(EachStep, WhatCameIsNotComputedAgain) {
  const auto seconds = [](bool skips) {
    StepSetting setting{std::vector<StepWorker>(2), {}};
    setting.workers[0].seconds_per_partition = 0.25;
    setting.holders.assign(20, {0, 1});
    EachLists lists{20, 1, WorkLists(2), skips};
    for (PartitionId p = 0; p < 20; ++p) {
      lists.chunks[0].push_back(p);
      lists.chunks[1].push_back(p < 4 ? p : 23 - p);
    }
    EachStep policy(std::make_shared<const StepSetting>(setting),
                    std::make_shared<const EachLists>(lists));
    return RunStepModel(setting, policy, {}).seconds;
  };
  EXPECT_NEAR(seconds(false), 5, 0.01);
  EXPECT_LT(seconds(true), 4.6);
}

// --- Parts of a gradient, after a cut ---

TEST(PartialStep, WhatWasCutGivesEveryPartAndEnds) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed, Stream::kTest, 10);
    const auto copies = static_cast<uint32_t>(2 + seed % 3);
    World world = RandomWorld(seed, copies);
    Kill(static_cast<uint32_t>(random.Below(3)), seed, world);
    const auto n = static_cast<uint32_t>(world.request.workers.size());
    WorkLists lists = RandomRegularLists(n, copies, random);
    StepSetting setting{world.request.workers, {}};
    setting.holders.resize(n);
    for (WorkerId w = 0; w < n; ++w) {
      for (const PartitionId p : lists[w]) setting.holders[p].push_back(w);
    }
    const bool rows = seed % 2 == 1;
    if (rows) setting.work.assign(n, 1);
    const auto parts = static_cast<uint32_t>(1 + random.Below(copies));
    PartialStep policy(std::make_shared<const StepSetting>(setting),
                       std::make_shared<const WorkLists>(lists), parts);
    AccountChecker checker(setting, policy, [&](const Vectors& vectors) -> std::string {
      WorkLists finished(n);
      for (const auto& [w, row, partitions] : vectors) finished[w] = partitions;
      for (WorkerId w = 0; w < n; ++w) {
        if (finished[w].size() < policy.cut()[w]) return "a vector of the cut is missing";
        finished[w].resize(policy.cut()[w]);
      }
      const Result<PartialCode> code = MakePartialCode(n, policy.parts());
      const Result<PartialPlan> plan = PlanPartial(*code, n, finished);
      if (!plan.ok()) return plan.status().ToString();
      return plan->squared_error < 1e-9 ? "" : "some part of a partition is missing";
    });
    if (rows) checker.AllowRevokes();
    const StepOutcome outcome = RunStepModel(setting, checker, world.truth);
    EXPECT_THAT(checker.violations(), testing::IsEmpty()) << "seed " << seed;
    if (HeldByTheLiving(setting, world)) {
      EXPECT_LT(outcome.seconds, kInfinity) << "seed " << seed;
    }
  }
}

// Worker 0 finishes row 0, so worker 1 drops it. Then worker 0 is lost.
TEST(PartialStep, RowsThatALossTakesGoBackToWhoDroppedThem) {
  StepSetting setting{std::vector<StepWorker>(3), {{0, 1}, {1, 2}, {2, 0}}};
  setting.work.assign(3, 1);
  const auto run = [&](double latency, double dies_at) {
    for (StepWorker& worker : setting.workers) worker.latency_seconds = latency;
    PartialStep policy(std::make_shared<const StepSetting>(setting),
                       std::make_shared<const WorkLists>(WorkLists{{0, 2}, {1, 0}, {2, 1}}), 1);
    StepModelOptions options;
    options.truth = {{1, dies_at}, {1}, {4}};
    return RunStepModel(setting, policy, options).seconds;
  };
  // Worker 2 finishes row 2 after 4 s. Then it reports, is asked for its vector and sends it.
  EXPECT_NEAR(run(0.01, 1.5), 4.03, 1e-9);
  // The policy is notified of the loss before worker 1 answers that it dropped the row.
  EXPECT_NEAR(run(0.2, 1.3), 4.6, 1e-9);
}

// Worker 1 is half-way through its row when worker 0 has finished all rows.
TEST(PartialStep, WorkThatIsLeftCountsAsFarAsItWent) {
  StepSetting setting{std::vector<StepWorker>(2), {{0, 1}, {1, 0}}};
  setting.work.assign(2, 1);
  for (StepWorker& worker : setting.workers) worker.least_piece = 0.25;
  PartialStep policy(std::make_shared<const StepSetting>(setting),
                     std::make_shared<const WorkLists>(WorkLists{{0, 1}, {1, 0}}), 1);
  StepModelOptions options;
  options.truth = {{1}, {4}};
  const StepOutcome outcome = RunStepModel(setting, policy, options);
  EXPECT_EQ(outcome.seconds, 2);
  EXPECT_EQ(outcome.partitions, 2.5);
}

// Two workers that are neighbours on the curve of R are worth little more than one. Their finished
// work must not cause a cut.
TEST(PartialStep, HoldersThatAreTooAlikeAreNotEnough) {
  constexpr uint32_t kWorkers = 600;
  const PartialCode code = MakePartialCode(kWorkers, 2).value();
  WorkerId twin = 1;
  for (WorkerId w = 1; w < kWorkers; ++w) {
    if (!SolvesChunk(code, std::vector<WorkerId>{0, w})) twin = w;
  }
  const std::vector<WorkerId> alike = {0, twin};
  ASSERT_GT(ChunkError(code, alike), 0.5);
  const WorkerId third = twin == 1 ? 2 : 1;
  StepSetting setting{std::vector<StepWorker>(kWorkers), {{0, twin, third}}};
  WorkLists lists(kWorkers);
  for (const WorkerId w : setting.holders[0]) lists[w] = {0};
  PartialStep policy(std::make_shared<const StepSetting>(setting),
                     std::make_shared<const WorkLists>(lists), 2);
  std::vector<StepCommand> commands;
  for (const WorkerId w : alike) policy.OnEvent(ListProgress{w, 1}, 1, commands);
  EXPECT_TRUE(commands.empty());
  policy.OnEvent(ListProgress{third, 1}, 1, commands);
  EXPECT_EQ(commands.size(), 3u) << "all three must send";

  // If no other worker holds the partition, only one part is possible.
  setting.holders = {alike};
  lists[third].clear();
  PartialStep pair(std::make_shared<const StepSetting>(setting),
                   std::make_shared<const WorkLists>(lists), 2);
  EXPECT_EQ(pair.parts(), 1u);
}

// --- Not exact ---

TEST(ApproximateStep, EndsAtTheQuorumOrTheDeadlineWithItsError) {
  World world = RandomWorld(4, 1);
  world.truth = {};
  for (StepWorker& worker : world.request.workers) worker = {};
  const auto n = static_cast<uint32_t>(world.request.workers.size());
  world.request.partitions = n;
  world.truth.truth.resize(n);
  world.truth.truth[0].slowdown = 10;
  const auto form = FormFor("none", world.request);
  const auto code = std::make_shared<const RowCode>(RowCodeOf(form));
  const auto setting =
      std::make_shared<const StepSetting>(StepSetting{world.request.workers, HoldersOf(*code)});
  const auto run = [&](const ApproximateLimits& limits) {
    ApproximateStep policy(setting, form, code, limits);
    const double seconds = RunStepModel(*setting, policy, world.truth).seconds;
    return std::pair(seconds, policy.Error());
  };
  EXPECT_THAT(run({n - 1, kInfinity}), testing::Pair(1, testing::DoubleNear(1.0 / n, 1e-9)));
  EXPECT_THAT(run({n, 4}), testing::Pair(4, testing::DoubleNear(1.0 / n, 1e-9)));
  EXPECT_THAT(run({n, 40}), testing::Pair(10, testing::DoubleNear(0, 1e-9)));
  // A deadline that passes before the first row only means that this row is enough.
  EXPECT_THAT(run({n, 0.5}).first, 1);
}

}  // namespace
}  // namespace motley
