// SPDX-License-Identifier: Apache-2.0
// Jobs without any faults.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <tuple>

#include "coding/gradient_code.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

struct JobShape {
  std::string code;
  uint32_t workers = 1;
  uint32_t shards = 1;
};

void PrintTo(const JobShape& job, std::ostream* out) {
  *out << job.code << ", " << job.workers << " workers, " << job.shards << " shards";
}

class WholeJob : public testing::TestWithParam<JobShape> {};

std::vector<JobShape> CodesAndWorkers() {
  std::vector<JobShape> all;
  for (const Scheme& scheme : Schemes()) {
    for (uint32_t workers = 1; workers <= 5; ++workers) {
      const bool none = std::string(scheme.name) == "none";
      if (scheme.fixed_rows() && (none || workers > 1)) all.push_back({scheme.name, workers, 1});
    }
    for (uint32_t shards = 2; shards <= 4; ++shards) all.push_back({scheme.name, 4, shards});
  }
  return all;
}

TEST_P(WholeJob, EqualsASerialLoop) {
  const auto& [code, workers, shards] = GetParam();
  JobWorld world(JobWorld::Options(workers, code));
  world.options.shards = shards;
  world.StartServer();
  world.StartWorkers();
  world.ExpectSerial(2e-5);
  const JobResult& result = world.Run();
  EXPECT_EQ(result.discarded_steps, 0u);
  EXPECT_EQ(result.batch_loss.size(), 12u);
  EXPECT_NEAR(result.batch_loss[0], std::log(4.0), 1e-5);  // Softmax starts at zero.
  double total = 0;
  for (const double seconds : result.step_seconds) total += seconds;
  EXPECT_NEAR(result.wall_seconds, total, 1e-9);
  EXPECT_EQ(result.scheduler.steps_committed, 12u);
  world.RunUntil([&] { return world.loop.pending() == 0; });
  for (const auto& worker : world.workers) {
    ASSERT_TRUE(worker->ended);
    EXPECT_TRUE(worker->ended->ok()) << worker->ended->ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, WholeJob, testing::ValuesIn(CodesAndWorkers()),
                         [](const auto& tested) {
                           const JobShape& job = tested.param;
                           const std::string cut = std::to_string(job.shards) + "Shards";
                           return TestNameOf(job.code) + std::to_string(job.workers) +
                                  (job.shards > 1 ? cut : "");
                         });

// Only clipping reads the whole vector.
TEST(Shards, ClipTheNormOfTheWholeGradient) {
  for (const char* code : {"none", "repetition", "adaptive"}) {
    std::vector<float> expected;
    for (const uint32_t shards : {1, 2, 3, 4, 100}) {
      SCOPED_TRACE(testing::Message() << code << ", " << shards << " shards");
      JobWorld world(JobWorld::Options(4, code));
      world.options.shards = shards;
      world.options.optimizer.clip = 0.05;
      world.StartServer();
      world.StartWorkers();
      const JobResult& result = world.Run();
      ASSERT_TRUE(result.status.ok()) << result.status.ToString();
      if (shards == 1) expected = *result.parameters;
      ASSERT_EQ(result.parameters->size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(result.parameters->at(i), expected[i], 1e-7) << i;
      }
    }
    double moved = 0;  // Softmax starts at zero, and each step moves by the rate times the clip.
    for (const float value : expected) moved += value * value;
    EXPECT_GT(moved, 0);
    EXPECT_LE(std::sqrt(moved), 12 * JobWorld::Options(4, code).optimizer.learning_rate * 0.05);
  }
}

// Every step is audited, and the serial loop weighs samples by itself.
TEST(Job, WeighsClassesAlikeUnderEveryCode) {
  for (const char* code : {"none", "heterogeneous", "rs", "graph", "multi-message", "short",
                           "partial-coded", "adaptive", "auto"}) {
    SCOPED_TRACE(code);
    JobWorld world(JobWorld::Options(4, code));
    world.options.model.class_weights = {0.25f, 1, 7, 2};
    world.StartServer();
    world.StartWorkers();
    world.ExpectSerial(4e-5);
    EXPECT_TRUE(Only<notice::Trouble>(world.watcher.notices).empty()) << "all is audited";
  }
}

// Dropout chooses hidden units by sample, so copies agree and every cut gives the same result.
TEST(Job, DropsTheSameUnitsOnAnyWorkers) {
  std::vector<std::vector<double>> curves;
  for (const char* code : {"none", "heterogeneous", "rs", "multi-message", "short", "adaptive"}) {
    for (const uint32_t workers : {1, 2, 5}) {
      if (workers == 1 && code != std::string("none")) continue;
      if (workers == 2 && code == std::string("short")) continue;  // This code needs three copies.
      SCOPED_TRACE(testing::Message() << code << " " << workers);
      JobWorld world(JobWorld::Options(workers, code));
      world.options.model.name = "mlp:10,6";
      world.options.model.dropout = 0.3;
      world.StartServer();
      world.StartWorkers();
      world.ExpectSerial(1e-4);
      curves.push_back(world.result->batch_loss);
      ASSERT_EQ(curves.back().size(), curves.front().size());
      for (size_t step = 0; step < curves.front().size(); ++step) {
        EXPECT_NEAR(curves.back()[step], curves.front()[step], 1e-5) << step;
      }
    }
  }
}

// Only class 1 has weight, and some small batches do not contain it.
TEST(Job, BatchesThatWeighNothingChangeNothing) {
  JobWorld world(JobWorld::Options(3, "none"));
  world.options.model.class_weights = {0, 1, 0, 0};
  world.options.batch = 2;
  world.options.steps = 30;
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.steps, 30u);
  EXPECT_GT(std::count(result.batch_loss.begin(), result.batch_loss.end(), 0.0), 0);
  for (const float value : *result.parameters) EXPECT_TRUE(std::isfinite(value));
}

TEST(Job, IsTheSameTwice) {
  std::vector<std::vector<float>> parameters;
  for (int run = 0; run < 2; ++run) {
    JobWorld world(JobWorld::Options(4, "rs"));
    world.StartServer();
    world.StartWorkers();
    parameters.push_back(*world.Run().parameters);
  }
  EXPECT_EQ(parameters[0], parameters[1]);
}

TEST(Job, WorkersHoldOnlyWhatTheyCompute) {
  JobWorld world(JobWorld::Options(4, "none"));
  world.options.shares = Shares::kEqual;
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  uint64_t held = 0;
  for (const uint64_t each : result.held_bytes) {
    EXPECT_GT(each, 0u);
    EXPECT_LT(each, world.data.size_bytes() / 3);
    held += each;
  }
  EXPECT_GE(held, world.data.size_bytes());
  EXPECT_LT(held, world.data.size_bytes() * 3 / 2);  // Each sparse index has an end as well.
  EXPECT_EQ(result.worker_names[2], "box-2");
}

TEST(Job, LearnsAMultilayerModelOverManySlices) {
  JobWorld world(JobWorld::Options(3, "cyclic"));
  world.options.model.name = "mlp:9";
  world.options.optimizer.name = "adam";
  world.options.optimizer.learning_rate = 0.01;
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  const std::vector<double> serial = world.SerialParameters();
  for (size_t i = 0; i < serial.size(); ++i) EXPECT_NEAR(result.parameters->at(i), serial[i], 1e-3);
}

TEST(Job, BatchesSmallerThanThePartitionsAreNumerousWork) {
  JobWorld world(JobWorld::Options(4, "repetition"));
  world.options.batch = 3;  // Most rows have no samples.
  world.options.steps = 40;
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  const std::vector<double> serial = world.SerialParameters();
  for (size_t i = 0; i < serial.size(); ++i) EXPECT_NEAR(result.parameters->at(i), serial[i], 1e-4);
}

TEST(Job, AsManyWorkersAsSamplesIsTheLimit) {
  JobWorld world(JobWorld::Options(5, "none"), 5);
  world.StartServer();
  world.StartWorkers();
  EXPECT_TRUE(world.Run().status.ok()) << world.result->status.ToString();

  JobWorld small(JobWorld::Options(5, "none"), 4);
  auto made = ServerNode::Create({small.loop, *small.server_transport, *small.server_device},
                                 small.options, small.source, nullptr);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(made.status().message().find("fewer workers"), std::string::npos);
}

TEST(Job, OptionsThatCannotWorkAreRefusedBeforeAnythingStarts) {
  const std::vector<std::function<void(JobOptions&)>> mistakes = {
      [](JobOptions& o) { o.workers = 0; },
      [](JobOptions& o) { o.batch = 0; },
      [](JobOptions& o) { o.steps = 0; },
      [](JobOptions& o) { o.token.clear(); },
      [](JobOptions& o) { o.job_id = 0; },
      [](JobOptions& o) { o.slice_length = 7; },
      [](JobOptions& o) { o.slice_length = 0; },
      [](JobOptions& o) { o.audit_fraction = NAN; },
      [](JobOptions& o) { o.model.features = 8; },
      [](JobOptions& o) { o.model.classes = 3; },
      [](JobOptions& o) {
        o.code = "rs";
        o.tolerate = 3;
      },
      [](JobOptions& o) { o.optimizer.learning_rate = -1; },
  };
  for (size_t i = 0; i < mistakes.size(); ++i) {
    JobWorld world(JobWorld::Options(3, "none"));
    mistakes[i](world.options);
    const auto made =
        ServerNode::Create({world.loop, *world.server_transport, *world.server_device},
                           world.options, world.source, nullptr);
    ASSERT_FALSE(made.ok()) << i;
    EXPECT_EQ(made.code(), StatusCode::kInvalidArgument) << i << made.status().ToString();
  }
}

TEST(Job, DivergenceEndsItWithAdvice) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.options.model = {"linear", 7, 0};
  world.data = Dataset();
  world.data.features = 7;
  for (int i = 0; i < 100; ++i) {
    world.data.dense.insert(world.data.dense.end(), 7, 1e8f);
    world.data.label.push_back(1e8f);
  }
  world.options.optimizer.learning_rate = 1e6;
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  EXPECT_EQ(result.status.code(), StatusCode::kDataError) << result.status.ToString();
  EXPECT_NE(result.status.ToString().find("lower `learning_rate`"), std::string::npos)
      << result.status.ToString();
}

}  // namespace
}  // namespace motley
