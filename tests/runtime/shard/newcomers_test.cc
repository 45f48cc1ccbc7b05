// SPDX-License-Identifier: Apache-2.0
// Workers that were not there when a job began get their parts of the vector.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/runtime/job_world.h"

namespace motley {
namespace {

constexpr uint32_t kWorkers = 8, kFirst = 2, kShards = 16;
constexpr StepId kJoin = 10;

struct Moved {
  std::map<WorkerId, uint32_t> gained;
  StepId last = 0;  // The step of the last news.
};

Moved Join(const std::string& optimizer, uint64_t steps) {
  JobOptions options = JobWorld::Options(kWorkers, "none");
  options.holders = JobOptions::Holders::kWorkers;
  options.shards = kShards;
  options.optimizer.name = optimizer;
  options.optimizer.learning_rate = 0.001;
  options.steps = steps;
  options.slice_length = 2;
  options.start_timeout = std::chrono::seconds(1);
  JobWorld world(options);
  world.StartServer();
  for (uint32_t worker = 0; worker < kFirst; ++worker) world.StartWorker(-1);
  Moved moved;
  StepId now = 0;
  world.watcher.on_step = [&](StepId step) {
    now = step;
    if (step != kJoin) return;
    world.loop.Post([&] {
      for (uint32_t worker = kFirst; worker < kWorkers; ++worker) world.StartWorker(-1);
    });
  };
  world.watcher.on_event = [&](const JobEvent& event) {
    const auto* noticed = std::get_if<event::Noticed>(&event);
    const auto* got =
        noticed != nullptr ? std::get_if<notice::ShardsGained>(&noticed->notice) : nullptr;
    if (got == nullptr) return;
    moved.gained[got->worker] += got->shards;
    moved.last = now;
  };
  ExpectSerialParameters(world, world.Run());
  return moved;
}

// `auto` counts on these figures when it asks if the parts come in time (VectorPlacement).
TEST(Newcomers, GetTheirPartsWithinSoManyUpdates) {
  constexpr uint32_t kMoves = kShards - kShards * kFirst / kWorkers;
  for (const auto& [optimizer, updates] : {std::pair{"sgd", 4U}, {"momentum", 8U}}) {
    SCOPED_TRACE(optimizer);
    const Moved moved = Join(optimizer, kJoin + kMoves * updates + 30);
    EXPECT_EQ(moved.gained.size(), kWorkers - kFirst);
    for (const auto& [worker, shards] : moved.gained) EXPECT_EQ(shards, kShards / kWorkers);
    constexpr StepId kJoining = 20;
    EXPECT_LE(moved.last, kJoin + kMoves * updates + kJoining);
  }
}

}  // namespace
}  // namespace motley
