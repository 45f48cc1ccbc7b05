// SPDX-License-Identifier: Apache-2.0
// Workers that were not there when a job began get their parts of the vector.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/runtime/job_world.h"

namespace motley {
namespace {

constexpr uint32_t kWorkers = 8, kFirst = 2;
constexpr StepId kJoin = 10;

// All workers but the first ones join at step kJoin. Returns the step at which all own their parts.
StepId LastMove(const std::string& optimizer, uint32_t shards) {
  JobOptions options = JobWorld::Options(kWorkers, "none");
  options.holders = JobOptions::Holders::kWorkers;
  options.shards = shards;
  options.optimizer.name = optimizer;
  options.optimizer.learning_rate = 0.001;
  options.steps = 200;
  options.slice_length = 2;
  options.start_timeout = std::chrono::seconds(1);
  JobWorld world(options);
  world.StartServer();
  for (uint32_t worker = 0; worker < kFirst; ++worker) world.StartWorker(-1);
  std::map<WorkerId, uint32_t> gained;
  StepId now = 0, last = 0;
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
    gained[got->worker] += got->shards;
    last = now;
  };
  ExpectSerialParameters(world, world.Run());
  EXPECT_EQ(gained.size(), kWorkers - kFirst);
  for (const auto& [worker, got] : gained) EXPECT_EQ(got, shards / kWorkers) << worker;
  return last;
}

// `auto` counts on these figures when it asks if the parts come in time (VectorPlacement). Twice as
// many shards need six more moves, and the workers take as long to join and to reach each other.
TEST(Newcomers, GetEachShardWithinSoManyUpdates) {
  constexpr uint32_t kFew = 8, kMore = 6;
  for (const auto& [optimizer, updates] : {std::pair{"sgd", 4U}, {"momentum", 8U}}) {
    SCOPED_TRACE(optimizer);
    const StepId few = LastMove(optimizer, kFew), many = LastMove(optimizer, 2 * kFew);
    EXPECT_LE(many, few + kMore * updates);
  }
}

}  // namespace
}  // namespace motley
