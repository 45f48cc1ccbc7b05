// SPDX-License-Identifier: Apache-2.0
// Workers with wrong answers, and honest ones.
#include "runtime/audit/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "coding/gradient_code.h"
#include "data/index_source.h"
#include "devices/paced_device.h"
#include "runtime/saving/saved_job.h"
#include "tests/runtime/job_world.h"
#include "training/trainers/callback_trainer.h"

namespace motley {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr WorkerId kLiar = 1;
constexpr StepId kFirstLie = 3;

std::vector<std::string> AllCodes() {
  std::vector<std::string> codes;
  for (const Scheme& code : CodedSchemes()) codes.emplace_back(code.name);
  for (const char* name : {"adaptive", "auto"}) {
    if (std::find(codes.begin(), codes.end(), name) == codes.end()) codes.emplace_back(name);
  }
  return codes;
}

using Lie = std::function<void(std::span<float>)>;

void Scale(std::span<float> answer) {
  for (float& value : answer) value *= -0.5F;
}
void Clear(std::span<float> answer) { std::fill(answer.begin(), answer.end(), 0.0F); }
// Flips one sign in one slice.
void FlipLargest(std::span<float> answer) {
  const auto smaller = [](float a, float b) { return std::abs(a) < std::abs(b); };
  float& largest = *std::max_element(answer.begin(), answer.end(), smaller);
  largest = -largest;
}

void LieFrom(JobWorld& world, StepId first, const Lie& lie) {
  world.workers[kLiar]->node->SetAnswerFilter([=](StepId step, std::span<float> answer) {
    if (step >= first) lie(answer);
  });
}

// The number of steps with warnings. Warnings of one step are about one wrong answer that was first
// in doubt.
size_t StepsOf(const std::vector<AuditWarning>& warnings) {
  std::set<StepId> steps;
  for (const AuditWarning& warning : warnings) steps.insert(warning.step);
  return steps.size();
}

class Liars : public testing::TestWithParam<std::string> {
 protected:
  // Runs a job in which one worker lies. Every step is audited.
  static void ExpectNamed(JobOptions options, double liars_speed, const Lie& lie) {
    JobWorld world(std::move(options));
    world.options.audit_time = 0;
    world.options.steps = 20;
    world.StartServer();
    const auto workers = static_cast<int32_t>(world.options.workers);
    for (int32_t i = 0; i < workers; ++i) world.StartWorker(i, i == kLiar ? liars_speed : 1);
    LieFrom(world, kFirstLie, lie);
    const JobResult& result = world.Run();
    EXPECT_TRUE(result.status.ok()) << result.status.ToString();
    EXPECT_EQ(result.steps, 20u);
    const auto answers = world.watcher.rows_of.find(kLiar);
    const bool counted = answers != world.watcher.rows_of.end() && answers->second > 0;
    if (!counted && result.audit.warnings.empty()) return;  // Others were faster in each step.
    const auto named = std::find_if(result.audit.warnings.begin(), result.audit.warnings.end(),
                                    [](const AuditWarning& w) { return w.worker.has_value(); });
    ASSERT_NE(named, result.audit.warnings.end());
    EXPECT_TRUE(named->sent_away);
    EXPECT_LE(named->step, kFirstLie + 1);
    for (const AuditWarning& warning : result.audit.warnings) {
      EXPECT_EQ(warning.worker.value_or(kLiar), kLiar) << warning.step;
      EXPECT_GE(warning.step, kFirstLie);
      EXPECT_GT(warning.difference, 0.01) << warning.step;
    }
    EXPECT_EQ(StepsOf(world.watcher.warnings), result.audit_failures);
    EXPECT_TRUE(result.scheduler.workers[kLiar].lost);
    for (WorkerId honest = 0; honest < world.options.workers; ++honest) {
      EXPECT_EQ(world.watcher.lost.count(honest), honest == kLiar ? 1u : 0u) << honest;
    }
  }
};

// The liar is a little faster, so that no step ends before its answers come.
constexpr double kInTime = 1.1;

TEST_P(Liars, WhoScalesItsAnswersAreNamedAndSentAway) {
  ExpectNamed(JobWorld::Options(4, GetParam()), kInTime, Scale);
}
TEST_P(Liars, WhoSendZerosAreNamedAndSentAway) {
  ExpectNamed(JobWorld::Options(4, GetParam()), kInTime, Clear);
}
TEST_P(Liars, WhoFlipOneSignAreNamedAndSentAway) {
  ExpectNamed(JobWorld::Options(4, GetParam()), kInTime, FlipLargest);
}
TEST_P(Liars, WhoAreMuchFasterAreNamedAndSentAway) {
  ExpectNamed(JobWorld::Options(4, GetParam()), 5, Scale);
}
TEST_P(Liars, WhoAreMuchSlowerAreNamedAndSentAway) {
  ExpectNamed(JobWorld::Options(4, GetParam()), 0.3, Scale);
}
// Every other answer is a copy of the liar's, and the liar's comes first.
TEST_P(Liars, WhoMayAnswerAloneAreNamedAndSentAway) {
  for (const uint32_t copies : {1, 2}) {
    for (const Shares shares : {Shares::kEqual, Shares::kProportional}) {
      // By then the only other worker has kept nothing that it could answer with.
      if (GetParam() == "partial-coded" && copies == 1 && shares == Shares::kEqual) continue;
      JobOptions options = JobWorld::Options(copies + 1, GetParam());
      options.tolerate = GetParam() == "none" ? 0 : copies;
      options.parts = 1;
      options.shares = shares;
      SCOPED_TRACE(testing::Message() << copies << " copies, shares " << static_cast<int>(shares));
      ExpectNamed(options, 5, Scale);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, Liars, testing::ValuesIn(AllCodes()),
                         [](const auto& tested) { return TestNameOf(tested.param); });

TEST(Audit, NamesTheLiarAtOnceInTheStepThatItLied) {
  JobWorld world(JobWorld::Options(3, "none"));
  world.options.audit_time = 0;
  world.StartServer();
  world.StartWorkers();
  LieFrom(world, kFirstLie, Scale);
  const JobResult& result = world.Run();
  ASSERT_THAT(world.watcher.warnings, Not(IsEmpty()));
  const AuditWarning& first = world.watcher.warnings.front();
  EXPECT_EQ(first.step, kFirstLie);
  EXPECT_NEAR(first.difference, 1.5, 0.3) << "sketches of few slices are rough";
  EXPECT_EQ(first.name, "box-1");
  EXPECT_EQ(first.kind, AuditWarning::Kind::kAnswer);
  EXPECT_EQ(first.off, "gradient");
  EXPECT_GT(result.max_decode_error, 0.1);
}

TEST(Audit, NamesALiarWithinOneOverRateSteps) {
  for (const char* code : {"none", "cyclic", "heterogeneous", "adaptive"}) {
    for (const uint64_t secret : {1, 2, 3, 4, 5, 6, 7, 8}) {
      JobWorld world(JobWorld::Options(3, code));
      world.options.steps = 40;
      world.options.audit_fraction = 0.1;
      world.options.audit_time = 0;
      world.options.audit_secret = secret;
      world.options.tolerate = 0;  // Every answer counts.
      world.StartServer();
      for (int32_t i = 0; i < 3; ++i) world.StartWorker(i, 1);
      LieFrom(world, 13, Scale);
      const JobResult& result = world.Run();
      EXPECT_LT(result.audited_steps, 25u);
      ASSERT_THAT(result.audit.warnings, Not(IsEmpty())) << code << " " << secret;
      EXPECT_EQ(result.audit.warnings.front().worker, kLiar) << code << " " << secret;
      EXPECT_GE(result.audit.warnings.front().step, 13u) << code << " " << secret;
      EXPECT_LE(result.audit.warnings.front().step, 13u + 10u) << code << " " << secret;
    }
  }
}

// The server could be wrong as well.
TEST(Audit, WarnsOfALonelyWorkerAndSendsNobodyAway) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.options.audit_time = 0;
  world.StartServer();
  world.StartWorker(0, 1);
  world.workers[0]->node->SetAnswerFilter([](StepId, std::span<float> answer) { Scale(answer); });
  const JobResult& result = world.Run();
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.audit_failures, 12u);
  EXPECT_THAT(result.audit.warnings, Each(Field(&AuditWarning::worker, std::nullopt)));
  EXPECT_THAT(world.watcher.warnings, SizeIs(3)) << "the others would say the same";
  EXPECT_THAT(world.watcher.lost, IsEmpty());
}

TEST(Audit, OfTwoLiarsThatAgreeNamesBoth) {
  JobWorld world(JobWorld::Options(3, "none"));
  world.options.audit_time = 0;
  world.StartServer();
  world.StartWorkers();
  for (const size_t liar : {0, 1}) {
    world.workers[liar]->node->SetAnswerFilter([](StepId, std::span<float> a) { Scale(a); });
  }
  const JobResult& result = world.Run();
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_THAT(world.watcher.lost, SizeIs(2));
  EXPECT_EQ(world.watcher.lost.count(2), 0u);
}

// Only the first step is drawn. In later ones, copies that differ expose the liar.
TEST(Audit, FollowsWhereCopiesDiffer) {
  JobWorld world(JobWorld::Options(4, "repetition"));
  world.options.audit_time = 0;
  world.options.audit_fraction = 1e-12;
  world.options.steps = 30;
  world.StartServer();
  for (int32_t i = 0; i < 4; ++i) world.StartWorker(i, 1);
  LieFrom(world, kFirstLie, Scale);
  const JobResult& result = world.Run();
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  ASSERT_THAT(result.audit.warnings, Not(IsEmpty()));
  EXPECT_EQ(result.audit.warnings.front().worker, kLiar);
  EXPECT_TRUE(result.scheduler.workers[kLiar].lost);
}

// Only the liar's copies count until it slows down.
TEST(Audit, NamesWhoWasWrongOnceAnotherAnswerComes) {
  JobWorld world(JobWorld::Options(2, "repetition"));
  world.options.audit_time = 0;
  world.options.shares = Shares::kEqual;
  world.watcher.on_step = [&](StepId step) {
    if (step == 6) world.workers[kLiar]->device->SetSpeed(0.05);
  };
  world.StartServer();
  world.StartWorker(0, 1);
  world.StartWorker(1, 4);
  LieFrom(world, 0, Scale);
  const JobResult& result = world.Run();
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  ASSERT_THAT(result.audit.warnings, Not(IsEmpty()));
  EXPECT_EQ(result.audit.warnings.front().worker, std::nullopt) << "it is not known yet who it is";
  EXPECT_EQ(result.audit.warnings.front().kind, AuditWarning::Kind::kUnclear);
  EXPECT_TRUE(std::any_of(result.audit.warnings.begin(), result.audit.warnings.end(),
                          [](const AuditWarning& w) { return w.worker == kLiar && w.sent_away; }));
  // Two reports about one answer, the first in doubt, count as one wrong answer.
  EXPECT_LT(StepsOf(result.audit.warnings), result.audit.warnings.size());
  EXPECT_EQ(result.audit_failures, StepsOf(result.audit.warnings));
  EXPECT_EQ(world.watcher.lost.count(0), 0u);
}

// One worker alone has answered when the step starts again. Copies for the earlier attempt are
// useless.
TEST(Audit, HoldsNoCancelBackWhenTheStepStartsAgain) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  FakeWorker busy(world, 1);
  FakeWorker bad(world, 2);
  for (FakeWorker* fake : {&busy, &bad}) {
    fake->Join();
    ASSERT_TRUE(world.RunUntil([&] { return fake->accept.has_value(); }));
    fake->Introduce();
  }
  bool told = false;
  busy.on_control = [&](const wire::ControlT& control) {
    told |= control.body.AsCancel() != nullptr;
  };
  ASSERT_TRUE(world.RunUntil([&] { return !bad.assigned.empty() && !busy.assigned.empty(); }));
  bad.Answer(bad.assigned[0], 32, 0.5f, [](Header& header) {
    if (header.offset == 12) header.norm = 1e-3;
  });
  ASSERT_TRUE(world.RunUntil([&] { return world.watcher.opened == 2; }));
  world.loop.RunUntilTime(world.loop.Now() + std::chrono::milliseconds(10));
  EXPECT_TRUE(told);
}

// The checkpoint contains updates that a lie has spoilt.
TEST(Audit, KeepsWhatRunsBeforeThisOneFound) {
  JobWorld world(JobWorld::Options(3, "none"));
  auto saved = std::make_shared<SavedJob>();
  saved->about = Describe(world.options, *world.job_source, 32).value();
  saved->about.history.batch_loss.assign(6, 1);
  saved->about.history.audited_steps = 5;
  saved->about.history.audit_failures = 4;
  EXPECT_EQ(ResultOf(*saved).audit_failures, 4u);
  // A model of 7 features and 4 classes.
  saved->parameters = std::make_shared<std::vector<float>>(32);
  saved->seed = world.options.seed;
  saved->step = saved->optimizer_steps = 6;
  saved->optimizer_state = std::make_shared<std::vector<float>>();
  world.options.resume = saved;
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_GT(result.audited_steps, 5u);
  EXPECT_EQ(result.audit_failures, 4u);
  EXPECT_THAT(result.audit.warnings, IsEmpty());
}

TEST(Audit, IsNotMadeWhereNoneIsWanted) {
  JobWorld world(JobWorld::Options(4, "repetition"));
  world.options.audit_fraction = 0;
  world.StartServer();
  world.StartWorkers();
  LieFrom(world, 0, Scale);
  const JobResult& result = world.Run();
  EXPECT_EQ(result.audited_steps, 0u);
  EXPECT_THAT(world.watcher.warnings, IsEmpty());
}

// Audits run on a separate device that takes a hundred times as long as the workers together.
class SlowAudits : public testing::Test {
 protected:
  struct Outcome {
    double seconds = 0;
    uint64_t audited = 0;
  };
  static Outcome Train(double fraction, double time) {
    JobWorld world(JobWorld::Options(3, "none"));
    auto inner = MakeInlineDevice(world.loop).value();
    const auto slow = MakePacedDevice(world.loop, *inner, {std::chrono::microseconds(4000), 1});
    world.audit_device = slow.get();
    world.options.audit_fraction = fraction;
    world.options.audit_time = time;
    world.options.steps = 400;
    world.StartServer();
    for (int32_t i = 0; i < 3; ++i) world.StartWorker(i, 1);
    const JobResult& result = world.Run();
    EXPECT_TRUE(result.status.ok()) << result.status.ToString();
    const Outcome outcome{result.wall_seconds, result.audited_steps};
    world.server.reset();
    return outcome;
  }
};

TEST_F(SlowAudits, DoNotHoldTrainingUp) {
  const Outcome none = Train(0, 0.01);
  const Outcome usual = Train(0.02, 0.01);
  EXPECT_LT(usual.seconds, 1.01 * none.seconds);
  EXPECT_GE(usual.audited, 1u);
  EXPECT_LE(usual.audited, 2u) << "each takes 100 steps";
}

TEST_F(SlowAudits, AreWaitedForWhereEachIsWanted) {
  const Outcome all = Train(1, 0);
  EXPECT_EQ(all.audited, 400u);
  EXPECT_GT(all.seconds, 100);
}

// Least squares on the numbers of samples. Trainers may differ in the reported weight and loss.
std::shared_ptr<const ForeignTrainer> Squares(double weight, double loss) {
  ForeignTrainer trainer;
  trainer.parameter_count = 3;
  trainer.accumulate = [=](const ForeignWork& work) {
    for (const uint64_t sample : work.samples) {
      const double x[] = {1, std::cos(static_cast<double>(sample)), 0.5};
      double gap = -2;
      for (int i = 0; i < 3; ++i) gap += work.parameters[i] * x[i];
      for (int i = 0; i < 3; ++i) work.sum[i] += static_cast<float>(work.coefficient * gap * x[i]);
      *work.loss += loss * work.coefficient * gap * gap / 2;
    }
    *work.weight *= weight;
    return Status::Ok();
  };
  return std::make_shared<const ForeignTrainer>(std::move(trainer));
}

// Runs a job in which worker 1 has another trainer than the others.
std::set<std::string> WrongParts(const std::shared_ptr<const ForeignTrainer>& other) {
  JobWorld world(JobWorld::Options(3, "none"));
  const IndexSource numbers(600);
  world.job_source = &numbers;
  world.options.foreign = Squares(1, 1);
  world.options.audit_time = 0;
  world.StartServer();
  for (int32_t i = 0; i < 3; ++i) {
    world.brought = i == 1 ? other : Squares(1, 1);
    world.StartWorker(i, 1);
  }
  const JobResult& result = world.Run();
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.audited_steps, 12u);
  EXPECT_THAT(world.watcher.lost, IsEmpty()) << "a caller's trainers may differ";
  std::set<std::string> wrong;
  for (const AuditWarning& warning : result.audit.warnings) {
    EXPECT_EQ(warning.worker, 1u);
    wrong.insert(warning.off);
  }
  return wrong;
}

TEST(Audit, OfTheCallersTrainersKnowsALiedWeight) {
  EXPECT_THAT(WrongParts(Squares(2, 1)), ElementsAre("weight"));
}
TEST(Audit, OfTheCallersTrainersKnowsALiedLoss) {
  EXPECT_THAT(WrongParts(Squares(1, 3)), ElementsAre("loss"));
}
// With one sample in a batch, two of three workers compute nothing and send zeros.
TEST(Audit, WhoHasNoSamplesDoesNotSayWhoIsRight) {
  JobWorld world(JobWorld::Options(3, "none"));
  const IndexSource numbers(600);
  world.job_source = &numbers;
  world.options.foreign = Squares(1, 1);
  world.options.audit_time = 0;
  world.options.batch = 1;
  world.StartServer();
  world.brought = Squares(1, 3);
  for (int32_t i = 0; i < 3; ++i) world.StartWorker(i, 1);
  const JobResult& result = world.Run();
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_THAT(result.audit.warnings, SizeIs(12));
  EXPECT_THAT(result.audit.warnings, Each(Field(&AuditWarning::worker, std::nullopt)));
}

TEST(Audit, OfHonestTrainersSaysNothing) { EXPECT_THAT(WrongParts(Squares(1, 1)), IsEmpty()); }

}  // namespace
}  // namespace motley
