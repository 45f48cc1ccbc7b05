// SPDX-License-Identifier: Apache-2.0
// Audits of jobs whose shards are at workers or shard servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "coding/schemes.h"
#include "runtime/audit/audit.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

using testing::IsEmpty;
using testing::Not;

constexpr WorkerId kLiar = 1;
constexpr StepId kFirstLie = 3;

struct Shape {
  std::string code;
  uint32_t shards = 4;
  uint32_t servers = 0;  // 0: the workers own the shards.
};

void PrintTo(const Shape& job, std::ostream* out) {
  *out << job.code << ", " << job.shards << " shards, " << job.servers << " shard servers";
}

std::vector<Shape> Shapes() {
  std::vector<Shape> all;
  for (const Scheme& scheme : Schemes()) {
    all.push_back({scheme.name, 4, 0});
    all.push_back({scheme.name, 7, 0});
    all.push_back({scheme.name, 2, 2});
  }
  return all;
}

JobOptions Options(const Shape& shape, uint32_t workers = 4) {
  JobOptions options = JobWorld::Options(workers, shape.code);
  options.shards = shape.shards;
  options.holders = JobOptions::Holders::kWorkers;
  if (shape.servers > 0) options.holders = JobOptions::Holders::kShardServers;
  options.shard_servers = shape.servers;
  options.audit_time = 0;
  options.steps = 20;
  return options;
}

void Start(JobWorld& world) {
  world.StartServer();
  for (uint32_t i = 0; i < world.options.shard_servers; ++i) world.StartShardServer();
  for (uint32_t i = 0; i < world.options.workers; ++i) {
    world.StartWorker(static_cast<int32_t>(i), i == kLiar ? 1.1 : 1);
  }
}

WorkerBox& Worker(JobWorld& world, WorkerId worker) {
  return *world.workers[world.options.shard_servers + worker];
}

void LieFrom(JobWorld& world, StepId first) {
  Worker(world, kLiar).node->SetAnswerFilter([first](StepId step, std::span<float> answer) {
    for (float& value : answer) value *= step >= first ? -0.5F : 1.0F;
  });
}

class OwnersAudits : public testing::TestWithParam<Shape> {};

TEST_P(OwnersAudits, FindNothingWrongInHonestJobs) {
  JobWorld world(Options(GetParam()));
  Start(world);
  const JobResult& end = world.Run();
  ExpectSerialParameters(world, end);
  EXPECT_EQ(end.audited_steps, world.options.steps);
  EXPECT_THAT(end.audit.warnings, IsEmpty());
  EXPECT_LE(end.audit.max_difference, 1e-6);
  EXPECT_LE(end.max_decode_error, 1e-5);
}

TEST_P(OwnersAudits, NameTheLiarAndSendItAway) {
  JobWorld world(Options(GetParam()));
  Start(world);
  LieFrom(world, kFirstLie);
  const JobResult& end = world.Run();
  EXPECT_TRUE(end.status.ok()) << end.status.ToString();
  EXPECT_EQ(end.steps, world.options.steps);
  const auto named = std::find_if(end.audit.warnings.begin(), end.audit.warnings.end(),
                                  [](const AuditWarning& each) { return each.worker.has_value(); });
  const auto answers = world.watcher.rows_of.find(kLiar);
  const bool counted = answers != world.watcher.rows_of.end() && answers->second > 0;
  if (!counted && end.audit.warnings.empty()) return;  // Others were faster in each step.
  ASSERT_NE(named, end.audit.warnings.end());
  EXPECT_TRUE(named->sent_away);
  EXPECT_LE(named->step, kFirstLie + 1);
  for (const AuditWarning& warning : end.audit.warnings) {
    EXPECT_EQ(warning.worker.value_or(kLiar), kLiar) << warning.step;
    EXPECT_GE(warning.step, kFirstLie);
  }
  for (WorkerId worker = 0; worker < world.options.workers; ++worker) {
    EXPECT_EQ(world.watcher.lost.count(worker), worker == kLiar ? 1u : 0u) << worker;
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, OwnersAudits, testing::ValuesIn(Shapes()), [](const auto& tested) {
  const Shape& job = tested.param;
  return TestNameOf(job.code) + std::to_string(job.shards) + "Shards" +
         std::to_string(job.servers) + "Servers";
});

TEST(OwnersAudit, FindsALiarWithinOneOverRateSteps) {
  for (const uint64_t secret : {1, 2, 3, 4}) {
    JobWorld world(Options({"cyclic"}));
    world.options.steps = 40;
    world.options.audit_fraction = 0.1;
    world.options.audit_secret = secret;
    world.options.tolerate = 0;  // Every answer counts.
    Start(world);
    LieFrom(world, 13);
    const JobResult& end = world.Run();
    EXPECT_LT(end.audited_steps, 25u);
    ASSERT_THAT(end.audit.warnings, Not(IsEmpty())) << secret;
    EXPECT_EQ(end.audit.warnings.front().worker, kLiar) << secret;
    EXPECT_GE(end.audit.warnings.front().step, 13u) << secret;
    EXPECT_LE(end.audit.warnings.front().step, 13u + 10u) << secret;
  }
}

// A step whose owner is lost may go without an audit, but the next step has one.
TEST(OwnersAudit, GoesOnWhenAnOwnerIsLost) {
  for (const char* optimizer : {"sgd", "momentum"}) {
    for (const char* code : {"none", "repetition", "adaptive"}) {
      for (const StepId at : {0, 3, 6}) {
        SCOPED_TRACE(testing::Message() << optimizer << ", " << code << ", in step " << at);
        JobWorld world(Options({code}));
        world.options.optimizer.name = optimizer;
        world.options.optimizer.learning_rate = 0.01;
        Start(world);
        bool killed = false;
        world.watcher.on_update = [&](StepId step) {
          if (step != at || std::exchange(killed, true)) return;
          world.loop.Post([&] { world.Kill(*world.workers[1]); });
        };
        const JobResult& end = world.Run();
        ExpectSerialParameters(world, end);
        EXPECT_TRUE(killed);
        EXPECT_GE(end.audited_steps, world.options.steps - 1);
        EXPECT_THAT(end.audit.warnings, IsEmpty());
      }
    }
  }
}

}  // namespace
}  // namespace motley
