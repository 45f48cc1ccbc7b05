// SPDX-License-Identifier: Apache-2.0
// Jobs whose workers hold the shards of the vector.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "coding/schemes.h"
#include "runtime/shard/newest_version.h"
#include "scheduler/placement/shard_ranges.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

JobOptions Options(uint32_t workers, const std::string& code, uint32_t shards) {
  JobOptions options = JobWorld::Options(workers, code);
  options.shards = shards;
  options.holders = JobOptions::Holders::kWorkers;
  return options;
}

struct Nobody : Receiver {
  void OnConnected(PeerId, const PeerIdentity&) override {}
  std::span<std::byte> OnPayload(PeerId, const Header&) override { return {}; }
  void OnPayloadDone(PeerId, const Header&, bool) override {}
  void OnLost(PeerId, const Status&) override {}
};

struct Shape {
  std::string code;
  uint32_t workers = 1;
  uint32_t shards = 1;
};

void PrintTo(const Shape& job, std::ostream* out) {
  *out << job.code << ", " << job.workers << " workers, " << job.shards << " shards";
}

std::vector<Shape> Shapes() {
  std::vector<Shape> all;
  for (const Scheme& scheme : Schemes()) {
    for (const uint32_t shards : {1, 3, 4, 7}) all.push_back({scheme.name, 4, shards});
  }
  all.push_back({"none", 1, 1});
  all.push_back({"none", 2, 2});
  return all;
}

class WorkerShards : public testing::TestWithParam<Shape> {};

TEST_P(WorkerShards, GiveTheParametersOfASerialLoop) {
  const auto& [code, workers, shards] = GetParam();
  JobWorld world(Options(workers, code, shards));
  world.StartServer();
  world.StartWorkers();
  ExpectSerialParameters(world, world.Run());
  EXPECT_EQ(world.result->scheduler.steps_restarted, 0u);
  EXPECT_EQ(world.watcher.applied_here, 0) << "the server has no version while the steps go on";
  EXPECT_NEAR(world.result->batch_loss.at(0), std::log(4.0), 1e-5);
  world.RunUntil([&] { return world.loop.pending() == 0; });
  for (const auto& worker : world.workers) {
    ASSERT_TRUE(worker->ended);
    EXPECT_TRUE(worker->ended->ok()) << worker->ended->ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, WorkerShards, testing::ValuesIn(Shapes()), [](const auto& tested) {
  const Shape& job = tested.param;
  return TestNameOf(job.code) + std::to_string(job.workers) + "Workers" +
         std::to_string(job.shards) + "Shards";
});

// Shards outlive as many losses at a time as they have followers. The state of the optimizer must
// follow them.
TEST(WorkerShards, OutliveTheirOwners) {
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    for (const char* code : {"none", "repetition", "adaptive", "auto"}) {
      for (const auto& [at, followers] : {std::pair{0, 1}, {3, 1}, {6, 1}, {0, 3}, {6, 3}}) {
        SCOPED_TRACE(testing::Message() << optimizer << ", " << code << ", in step " << at << ", "
                                        << followers << " followers");
        JobWorld world(Options(4, code, 4));
        world.options.followers = followers;
        world.options.optimizer.name = optimizer;
        world.options.optimizer.learning_rate = 0.01;
        world.StartServer();
        world.StartWorkers();
        bool killed = false;
        world.watcher.on_step = [&, step_of_loss = StepId(at), losses = followers](StepId step) {
          if (step != step_of_loss || std::exchange(killed, true)) return;
          for (int worker = 1; worker <= losses; ++worker) world.Kill(*world.workers[worker]);
        };
        ExpectSerialParameters(world, world.Run());
        EXPECT_TRUE(killed);
      }
    }
  }
}

// Runs `then` after so many turns of the loop.
void AfterTurns(JobWorld& world, int turns, std::function<void()> then) {
  if (turns == 0) return then();
  world.loop.Post([&world, turns, then] { AfterTurns(world, turns - 1, then); });
}

// Without a state followers read the new values. An owner that is lost before that takes them
// along.
TEST(WorkerShards, AreTakenBackIfAnOwnerIsLostWithItsNewValues) {
  int taken_back = 0;
  for (const char* code : {"none", "repetition", "adaptive"}) {
    for (const uint32_t followers : {1, 2, 3}) {
      for (int turns = 0; turns < 24; ++turns) {
        SCOPED_TRACE(testing::Message() << code << ", " << followers << " followers, lost after "
                                        << turns << " turns");
        JobWorld world(Options(4, code, 8));
        world.options.followers = followers;
        world.StartServer();
        world.StartWorkers();
        int updates = 0;
        world.watcher.on_update = [&](StepId step) {
          if (step != 5 || ++updates > 1) return;
          AfterTurns(world, turns, [&] { world.Kill(*world.workers[1]); });
        };
        ExpectSerialParameters(world, world.Run());
        EXPECT_LE(updates, 2) << "a step is repeated once";
        taken_back += updates - 1;
      }
    }
  }
  EXPECT_GT(taken_back, 0);
}

TEST(WorkerShards, ThatAreTakenBackDoNotHoldUpTheEnd) {
  for (int turns = 0; turns < 24; ++turns) {
    SCOPED_TRACE(turns);
    JobWorld world(Options(4, "none", 8));
    world.StartServer();
    world.StartWorkers();
    world.watcher.on_update = [&](StepId step) {
      if (step != 5) return;
      world.loop.Post([&] { world.server->Stop("enough"); });
      AfterTurns(world, turns, [&] { world.Kill(*world.workers[1]); });
    };
    const JobResult& end = world.Run();
    EXPECT_EQ(end.status.code(), StatusCode::kCancelled);
    EXPECT_NE(end.status.ToString().find("enough"), std::string::npos) << end.status.ToString();
  }
}

TEST(WorkerShards, FindNewFollowers) {
  JobWorld world(Options(4, "none", 4));
  world.options.optimizer.name = "momentum";
  world.StartServer();
  world.StartWorkers();
  std::vector<size_t> to_kill = {1, 2, 3};
  world.watcher.on_step = [&](StepId step) {
    if (step % 3 != 2 || to_kill.empty()) return;
    world.Kill(*world.workers[to_kill.back()]);
    to_kill.pop_back();
  };
  ExpectSerialParameters(world, world.Run());
  EXPECT_TRUE(to_kill.empty());
}

// In the end a newcomer has all that the first workers held.
TEST(WorkerShards, PassToNewcomers) {
  JobWorld world(Options(3, "cyclic", 3));
  world.options.optimizer.name = "momentum";
  world.options.steps = 40;
  world.StartServer();
  world.StartWorkers();
  std::vector<size_t> to_kill = {0, 2, 1};
  world.watcher.on_step = [&](StepId step) {
    // A step that begins again kills nobody else.
    if (to_kill.empty() || step != 10 * (3 - to_kill.size()) + 3) return;
    world.Kill(*world.workers[to_kill.back()]);
    if (to_kill.size() == 3) world.loop.Post([&] { world.StartWorker(1); });
    to_kill.pop_back();
  };
  ExpectSerialParameters(world, world.Run());
  EXPECT_TRUE(to_kill.empty());
  world.RunUntil([&] { return world.loop.pending() == 0; });
  const auto& newcomer = *world.workers.back();
  ASSERT_TRUE(newcomer.ended);
  EXPECT_TRUE(newcomer.ended->ok()) << newcomer.ended->ToString();
}

// How many shards each worker got from others.
std::map<WorkerId, uint32_t> Gained(const JobWorld& world) {
  std::map<WorkerId, uint32_t> gained;
  for (const JobNotice& each : world.watcher.notices) {
    if (const auto* got = std::get_if<notice::ShardsGained>(&each)) {
      gained[got->worker] += got->shards;
    }
  }
  return gained;
}

// A worker that replaces a lost one gets as many shards as that had.
TEST(WorkerShards, ComeBackToANewcomer) {
  for (const char* optimizer : {"sgd", "momentum"}) {
    for (const char* code : {"none", "cyclic", "adaptive"}) {
      for (const uint32_t workers : {2, 4}) {
        SCOPED_TRACE(testing::Message() << optimizer << ", " << code << ", " << workers);
        JobWorld world(Options(workers, code, 2 * workers));
        world.options.optimizer.name = optimizer;
        world.options.steps = 60;
        world.StartServer();
        world.StartWorkers();
        bool killed = false;
        world.watcher.on_step = [&](StepId step) {
          if (step != 5 || std::exchange(killed, true)) return;
          world.Kill(*world.workers[1]);
          world.loop.Post([&] { world.StartWorker(1); });
        };
        ExpectSerialParameters(world, world.Run());
        EXPECT_EQ(Gained(world), (std::map<WorkerId, uint32_t>{{1, 2}}));
      }
    }
  }
}

// A worker that is lost again and again would take its shards along each time.
TEST(WorkerShards, ComeBackLaterToAWorkerThatIsLostAgain) {
  for (const char* optimizer : {"sgd", "momentum"}) {
    SCOPED_TRACE(optimizer);
    JobWorld world(Options(3, "none", 3));
    world.options.optimizer.name = optimizer;
    world.options.steps = 120;
    world.StartServer();
    world.StartWorkers();
    const std::vector<StepId> losses = {5, 30, 60};
    std::vector<StepId> gained;
    size_t lost = 0;
    StepId now = 0;
    world.watcher.on_step = [&](StepId step) {
      now = step;
      if (lost == losses.size() || step != losses[lost]) return;
      WorkerBox& dying = lost == 0 ? *world.workers[1] : *world.workers.back();
      ++lost;
      world.Kill(dying);
      world.loop.Post([&] { world.StartWorker(1, 1, kToken, "box-1"); });
    };
    world.watcher.on_event = [&](const JobEvent& event) {
      const auto* noticed = std::get_if<event::Noticed>(&event);
      const auto* got =
          noticed != nullptr ? std::get_if<notice::ShardsGained>(&noticed->notice) : nullptr;
      if (got != nullptr && got->worker == 1) gained.push_back(now);
    };
    ExpectSerialParameters(world, world.Run());
    ASSERT_EQ(gained.size(), losses.size());
    EXPECT_LT(gained[0], losses[0] + 16) << "anybody may be lost once";
    EXPECT_GE(gained[1], losses[1] + 16);
    EXPECT_LT(gained[1], losses[2]);
    EXPECT_GE(gained[2], losses[2] + 32);
  }
}

// The newcomer owns shards, so those can be lost again.
TEST(WorkerShards, ComeBackToANewcomerThatDies) {
  for (const char* optimizer : {"sgd", "momentum"}) {
    for (int turns = 0; turns < 40; ++turns) {
      SCOPED_TRACE(testing::Message() << optimizer << ", lost after " << turns << " turns");
      JobWorld world(Options(3, "none", 3));
      world.options.optimizer.name = optimizer;
      world.options.steps = 30;
      world.StartServer();
      world.StartWorkers();
      bool killed = false, again = false;
      world.watcher.on_step = [&](StepId step) {
        if (step == 5 && !std::exchange(killed, true)) {
          world.Kill(*world.workers[1]);
          world.loop.Post([&] { world.StartWorker(1); });
        } else if (step == 9 && !std::exchange(again, true)) {
          AfterTurns(world, 4 * turns, [&] { world.Kill(*world.workers[3]); });
        }
      };
      ExpectSerialParameters(world, world.Run());
      EXPECT_TRUE(again);
    }
  }
}

TEST(WorkerShards, AreLostWithoutFollowers) {
  JobWorld world(Options(3, "none", 3));
  world.options.followers = 0;
  world.StartServer();
  world.StartWorkers();
  world.watcher.on_step = [&](StepId step) {
    if (step == 4) world.Kill(*world.workers[1]);
  };
  const JobResult& end = world.Run();
  EXPECT_EQ(end.status.code(), StatusCode::kUnavailable);
  EXPECT_NE(end.status.ToString().find("nobody followed it"), std::string::npos)
      << end.status.ToString();
  EXPECT_TRUE(world.watcher.lost.contains(1)) << "the loss that ends a job is an event, too";
  ASSERT_TRUE(world.RunUntil([&] { return world.workers[0]->ended && world.workers[2]->ended; }));
  for (const int other : {0, 2}) {
    EXPECT_TRUE(world.workers[other]->ended->ok()) << world.workers[other]->ended->ToString();
  }
}

// An empty frame of a stranger, who knows no token, is nothing to a worker that holds shards.
TEST(WorkerShards, TakeNothingFromStrangers) {
  JobWorld world(Options(3, "none", 3));
  world.StartServer();
  world.StartWorkers();
  const auto transport = world.network.MakeTransport();
  Nobody nobody;
  transport->SetReceiver(&nobody);
  bool sent = false;
  world.watcher.on_step = [&](StepId step) {
    if (step != 0) return;
    for (size_t i = 0; i < world.workers.size(); ++i) {
      const PeerId peer = transport->Connect("box-" + std::to_string(i) + ":1");
      for (const FrameKind kind :
           {FrameKind::kShardSum, FrameKind::kGradient, FrameKind::kLoad, FrameKind::kControl}) {
        for (uint32_t shard = 0; shard < 3; ++shard) {
          Header header;
          header.kind = kind;
          header.shard = shard;
          header.offset = uint64_t{1} << 40;
          transport->Send(peer, header, {}, Priority::kBulk, [](const Status&) {});
          sent = true;
        }
      }
    }
  };
  ExpectSerialParameters(world, world.Run());
  EXPECT_TRUE(sent);
  transport->SetReceiver(nullptr);
  transport->Close();
}

// 440,008 parameters, which are worth measuring links for.
JobOptions LongVector(JobOptions::Holders holders) {
  JobOptions options = Options(4, "none", 1);
  options.model.name = "mlp:40000";
  options.slice_length = 1u << 16;
  options.steps = 2;
  options.batch = 40;
  options.holders = holders;
  return options;
}

// What the job said about the place of its vector.
std::optional<notice::VectorPlaced> Placed(const JobWorld& world) {
  for (const JobNotice& each : world.watcher.notices) {
    if (const auto* placed = std::get_if<notice::VectorPlaced>(&each)) return *placed;
  }
  return std::nullopt;
}

TEST(WorkerShards, OfALongVectorFollowMeasuredLinks) {
  JobWorld world(LongVector(JobOptions::Holders::kWorkers));
  world.StartServer();
  world.StartWorkers();
  const JobResult& end = world.Run();
  ASSERT_TRUE(end.status.ok()) << end.status.ToString();
  EXPECT_EQ(end.steps, 2u);
  const auto placed = Placed(world);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->choice.kind, Reduce::kDirect);
  for (const double share : SharesOf(placed->choice.ranges, 4)) {
    EXPECT_NEAR(share, 0.25, 0.01);  // Links are alike here.
  }
  for (size_t shard = 1; shard < placed->choice.ranges.size(); ++shard) {
    EXPECT_NE(placed->choice.ranges[shard].owner, placed->choice.ranges[shard - 1].owner);
  }
  EXPECT_FALSE(placed->unreached);
}

TEST(WorkerShards, AreOnlyUsedWhereTheyAreFaster) {
  JobWorld world(LongVector(JobOptions::Holders::kChosen));
  world.options.audit_fraction = 1;
  world.options.audit_time = 0;
  world.StartServer();
  world.StartWorkers();
  const JobResult& end = world.Run();
  ASSERT_TRUE(end.status.ok()) << end.status.ToString();
  EXPECT_EQ(end.steps, 2u);
  EXPECT_TRUE(Placed(world));
  EXPECT_EQ(end.audited_steps, 2u) << "at the workers as at the server";
}

// Workers that are lost while links are measured are not waited for.
TEST(WorkerShards, ArePlacedAlthoughAWorkerIsLostBefore) {
  for (const auto holders : {JobOptions::Holders::kWorkers, JobOptions::Holders::kChosen}) {
    JobWorld world(LongVector(holders));
    world.StartServer();
    world.StartWorkers();
    bool killed = false;
    world.RunUntil([&] { return world.watcher.joined.size() == 4; });
    world.loop.After(std::chrono::milliseconds(150), [&] {
      killed = world.watcher.opened == 0;
      world.Kill(*world.workers[2]);
    });
    const JobResult& end = world.Run();
    EXPECT_TRUE(end.status.ok()) << end.status.ToString();
    EXPECT_TRUE(killed);
    const auto placed = Placed(world);
    ASSERT_TRUE(placed);
    EXPECT_EQ(placed->nodes.size(), 3u);
  }
}

TEST(WorkerShards, AreReadBackInEachStepIfATestWantsIt) {
  JobWorld world(Options(3, "none", 3));
  world.options.steps = 9;
  world.options.read_every_version = true;
  world.StartServer();
  world.StartWorkers();
  ExpectSerialParameters(world, world.Run());
  EXPECT_EQ(world.watcher.applied_here, 9);
}

TEST(WorkerShards, AreReadBackWhereTheJobPauses) {
  JobWorld world(Options(3, "none", 3));
  world.options.newest = std::make_shared<NewestVersion>();
  world.StartServer();
  world.server->Follow({.allowed_steps = 4});
  world.StartWorkers();
  EXPECT_FALSE(world.RunUntil([&] { return world.watcher.applied > 4; }));
  EXPECT_EQ(world.options.newest->Get().number, 4u);
  EXPECT_FALSE(world.options.newest->Get().values->empty());
  size_t here = 0;
  world.watcher.on_update = [&](StepId) { here += world.options.newest->Get().values->size(); };
  world.server->Follow({});
  ExpectSerialParameters(world, world.Run());
  EXPECT_EQ(here, 0u) << "nobody holds a vector for nothing";
}

TEST(WorkerShards, OfAShortVectorStayWithTheServerUnlessAskedFor) {
  JobWorld world(Options(4, "none", 1));
  world.options.holders = JobOptions::Holders::kChosen;
  world.StartServer();
  world.StartWorkers();
  ExpectSerialParameters(world, world.Run());
  EXPECT_FALSE(Placed(world));
  const notice::StarKept* kept = nullptr;
  for (const JobNotice& each : world.watcher.notices) {
    if (const auto* star = std::get_if<notice::StarKept>(&each)) kept = star;
  }
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->why, notice::StarKept::Why::kShort);
  EXPECT_EQ(world.watcher.applied_here, world.watcher.applied);
}

// Nobody has the version that the last step made, so the job must not end well.
TEST(WorkerShards, LostAfterTheLastStepFailTheJob) {
  JobWorld world(Options(3, "none", 3));
  world.options.followers = 0;
  world.StartServer();
  world.StartWorkers();
  ASSERT_TRUE(world.RunUntil(
      [&] { return world.watcher.applied == static_cast<int>(world.options.steps); }));
  world.Kill(*world.workers[1]);
  const JobResult& end = world.Run();
  EXPECT_EQ(end.status.code(), StatusCode::kUnavailable);
  EXPECT_NE(end.status.ToString().find("those after step 12, are lost"), std::string::npos)
      << end.status.ToString();
}

TEST(WorkerShards, LostAfterAJobWasStoppedDoNotHoldUpItsEnd) {
  for (const bool first : {false, true}) {
    SCOPED_TRACE(first ? "lost before the server asked for it" : "lost on its way");
    JobWorld world(Options(3, "none", 3));
    world.options.followers = 0;
    world.StartServer();
    world.StartWorkers();
    world.watcher.on_step = [&](StepId step) {
      if (step != 4) return;
      if (first) world.Kill(*world.workers[1]);
      world.loop.Post([&] {
        world.server->Stop("enough");
        if (!first) world.Kill(*world.workers[1]);
      });
    };
    const JobResult& end = world.Run();
    EXPECT_EQ(end.status.code(), StatusCode::kCancelled);
    EXPECT_NE(end.status.ToString().find("enough"), std::string::npos) << end.status.ToString();
    EXPECT_NE(end.status.ToString().find("those after step 4, are lost"), std::string::npos)
        << end.status.ToString();
  }
}

}  // namespace
}  // namespace motley
