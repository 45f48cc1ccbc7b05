// SPDX-License-Identifier: Apache-2.0
// Jobs with the caller's gradient.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "coding/gradient_code.h"
#include "data/index_source.h"
#include "runtime/audit/audit.h"
#include "tests/runtime/job_world.h"
#include "training/trainers/callback_trainer.h"

namespace motley {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr size_t kSamples = 600;
constexpr size_t kParameters = 3;

// A sample's point. There is no data besides these points and their values.
double PointOf(uint64_t sample, size_t parameter) {
  return std::cos(0.1 * static_cast<double>(sample) * static_cast<double>(parameter));
}
double ValueOf(uint64_t sample) { return PointOf(sample, 1) - 2 * PointOf(sample, 2) + 0.5; }

double GapOf(std::span<const double> parameters, uint64_t sample) {
  double gap = -ValueOf(sample);
  for (size_t i = 0; i < kParameters; ++i) gap += parameters[i] * PointOf(sample, i);
  return gap;
}

Status AddSquares(const ForeignWork& work) {
  const std::vector<double> parameters(work.parameters.begin(), work.parameters.end());
  for (const uint64_t sample : work.samples) {
    const double gap = GapOf(parameters, sample);
    for (size_t i = 0; i < kParameters; ++i) {
      work.sum[i] += static_cast<float>(work.coefficient * gap * PointOf(sample, i));
    }
    *work.loss += work.coefficient * gap * gap / 2;
  }
  return Status::Ok();
}

ForeignTrainer Squares() {
  ForeignTrainer trainer;
  trainer.parameter_count = kParameters;
  trainer.accumulate = AddSquares;
  return trainer;
}

std::shared_ptr<const ForeignTrainer> Share(ForeignTrainer trainer) {
  return std::make_shared<const ForeignTrainer>(std::move(trainer));
}

// A job of samples that only the callers know.
class ForeignWorld : public JobWorld {
 public:
  explicit ForeignWorld(uint32_t count, const std::string& code = "none",
                        ForeignTrainer servers = Squares())
      : JobWorld(Options(count, code), kSamples) {
    options.slice_length = 2;
    options.foreign = Share(std::move(servers));
    brought = Share(Squares());
    job_source = &numbers_;
  }

 private:
  const IndexSource numbers_{kSamples};
};

// The parameters of a plain loop in double precision.
std::vector<double> TrainSerially(const JobOptions& options) {
  const uint32_t partitions = PartitionCount(kSamples, options.workers).value();
  const BatchSchedule schedule(options.seed, PartitionSizes(kSamples, partitions), options.batch);
  std::vector<double> parameters(kParameters, 0.0);
  for (StepId step = 0; step < options.steps; ++step) {
    std::vector<double> gradient(kParameters, 0.0);
    for (const uint32_t sample : schedule.Rows(step)) {
      const double gap = GapOf(parameters, sample);
      for (size_t i = 0; i < kParameters; ++i) gradient[i] += gap * PointOf(sample, i);
    }
    for (size_t i = 0; i < kParameters; ++i) {
      const double mean =
          gradient[i] / schedule.batch_size(step) + options.optimizer.l2 * parameters[i];
      parameters[i] -= options.optimizer.learning_rate * mean;
    }
  }
  return parameters;
}

class ForeignJobCodes : public testing::TestWithParam<std::string> {};

TEST_P(ForeignJobCodes, EqualsASerialLoopOverTheCallersSamples) {
  ForeignWorld world(4, GetParam());
  world.options.optimizer.l2 = 0.01;
  world.options.optimizer.learning_rate = 0.1;
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  const std::vector<double> serial = TrainSerially(world.options);
  ASSERT_EQ(result.parameters->size(), kParameters);
  for (size_t i = 0; i < kParameters; ++i) EXPECT_NEAR(result.parameters->at(i), serial[i], 2e-5);
  EXPECT_EQ(result.steps, 12u);
  EXPECT_EQ(result.audited_steps, 12u);
  EXPECT_LT(result.max_decode_error, 1e-4);
  EXPECT_LT(result.batch_loss.back(), result.batch_loss.front() / 2);
  for (const uint64_t held : result.held_bytes) EXPECT_EQ(held, 0u);
  for (const WorkerStats& worker : result.scheduler.workers) EXPECT_GT(worker.speed, 0);
}

std::vector<std::string> Codes() {
  std::vector<std::string> codes;
  for (const Scheme& code : CodedSchemes()) codes.emplace_back(code.name);
  return codes;
}
INSTANTIATE_TEST_SUITE_P(Codes, ForeignJobCodes, testing::ValuesIn(Codes()),
                         [](const auto& tested) { return TestNameOf(tested.param); });

TEST(ForeignJob, SamplesOfTheJobTravelToTheTrainer) {
  JobWorld world(JobWorld::Options(2, "none"));
  ForeignTrainer trainer;
  trainer.parameter_count = 1;
  uint64_t matched = 0;
  // Computes the mean of the labels, and counts the samples that came with their number.
  trainer.accumulate = [&](const ForeignWork& work) {
    if (work.batch == nullptr) return Status::Callback("no samples came");
    for (size_t i = 0; i < work.samples.size(); ++i) {
      const float label = work.batch->label.at(i);
      matched += label == world.data.label.at(work.samples[i]);
      const double gap = work.parameters[0] - static_cast<double>(label);
      work.sum[0] += static_cast<float>(work.coefficient * gap);
      *work.loss += work.coefficient * gap * gap / 2;
    }
    return Status::Ok();
  };
  world.options.foreign = world.brought = Share(trainer);
  world.options.optimizer.learning_rate = 0.5;
  world.StartServer();
  world.StartWorkers();
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  double mean = 0;
  for (const float label : world.data.label) mean += label / 600.0;
  EXPECT_NEAR(result.parameters->at(0), mean, 0.2);
  EXPECT_EQ(matched, 2 * 12 * 100u) << "every step's batch once, and once more for the audit";
}

// Every worker holds partitions before it computes on them.
TEST(ForeignJob, WorkersHoldWhatTheyWorkOn) {
  ForeignWorld world(3, "cyclic");
  std::vector<std::set<uint64_t>> held(3);
  world.StartServer();
  for (int32_t i = 0; i < 3; ++i) {
    ForeignTrainer trainer = Squares();
    std::set<uint64_t>& mine = held[i];
    trainer.hold = [&mine](PartitionId, uint64_t first, uint64_t count) {
      for (uint64_t sample = first; sample < first + count; ++sample) mine.insert(sample);
      return Status::Ok();
    };
    trainer.accumulate = [&mine](const ForeignWork& work) {
      for (const uint64_t sample : work.samples) {
        if (mine.count(sample) == 0) return Status::Callback("a sample that was never held");
      }
      return AddSquares(work);
    };
    world.brought = Share(std::move(trainer));
    world.StartWorker(i);
  }
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_TRUE(world.watcher.lost.empty());
  for (const auto& mine : held) {
    EXPECT_GE(mine.size(), 300u);
    EXPECT_LT(mine.size(), kSamples) << "two of three parts each";
  }
}

TEST(ForeignJob, AServerThatCannotSumDoesNotAudit) {
  ForeignTrainer loads = Squares();
  loads.hold = [](PartitionId, uint64_t, uint64_t) { return Status::Ok(); };
  ForeignTrainer cannot = Squares();
  cannot.accumulate = nullptr;
  for (const ForeignTrainer& trainer : {loads, cannot}) {
    ForeignWorld world(2, "none", trainer);
    world.StartServer();
    world.StartWorkers();
    const JobResult& result = world.Run();
    EXPECT_TRUE(result.status.ok()) << result.status.ToString();
    EXPECT_EQ(result.audited_steps, 0u);
  }
}

TEST(ForeignJob, TheFirstParametersAreTheTrainers) {
  ForeignTrainer trainer = Squares();
  trainer.initialize = [](uint64_t seed, std::span<float> parameters) {
    for (const float value : parameters) EXPECT_EQ(value, 0);
    parameters[0] = static_cast<float>(seed);
    return Status::Ok();
  };
  ForeignWorld world(1, "none", trainer);
  world.options.optimizer.learning_rate = 1e-6;
  world.StartServer();
  world.StartWorkers();
  EXPECT_NEAR(world.Run().parameters->at(0), world.options.seed, 1e-3);
}

Status RefusalOf(ForeignWorld& world) {
  return ServerNode::Create({world.loop, *world.server_transport, *world.server_device},
                            world.options, *world.job_source, nullptr)
      .status();
}

TEST(ForeignJob, WhatCannotWorkIsRefusedBeforeItStarts) {
  ForeignTrainer trainer = Squares();
  trainer.initialize = [](uint64_t, std::span<float>) { return Status::Callback("it said 42"); };
  ForeignWorld fails(1, "none", trainer);
  EXPECT_EQ(RefusalOf(fails).code(), StatusCode::kCallback);
  EXPECT_THAT(RefusalOf(fails).ToString(), HasSubstr("it said 42"));
  trainer.initialize = [](uint64_t, std::span<float> parameters) {
    parameters[1] = std::numeric_limits<float>::quiet_NaN();
    return Status::Ok();
  };
  ForeignWorld not_finite(1, "none", trainer);
  EXPECT_EQ(RefusalOf(not_finite).code(), StatusCode::kCallback);
  trainer.parameter_count = 0;
  ForeignWorld empty(1, "none", trainer);
  EXPECT_EQ(RefusalOf(empty).code(), StatusCode::kInvalidArgument);
  trainer.parameter_count = ForeignTrainer::kMostParameters;
  ForeignWorld large(1, "none", trainer);
  EXPECT_EQ(RefusalOf(large).code(), StatusCode::kResource);
  ForeignWorld no_data(1);
  no_data.options.foreign = nullptr;
  EXPECT_EQ(RefusalOf(no_data).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(RefusalOf(no_data).ToString(), HasSubstr("give the job data"));
}

TEST(ForeignJob, UpdatesOfTheCallersOwnStayAtTheServer) {
  ForeignTrainer trainer = Squares();
  trainer.apply = [](const RuleUpdate&) { return Status::Ok(); };
  ForeignWorld world(2, "none", trainer);
  EXPECT_TRUE(RefusalOf(world).ok());
  using Holders = JobOptions::Holders;
  for (const Holders holders : {Holders::kChosen, Holders::kWorkers, Holders::kShardServers}) {
    world.options.holders = holders;
    EXPECT_THAT(RefusalOf(world).ToString(), HasSubstr("use `reduce` star"));
  }
}

// Runs until the server and all workers have ended.
void Finish(ForeignWorld& world) {
  world.Run();
  world.RunUntil([&] { return world.loop.pending() == 0; });
}

TEST(ForeignJob, AWorkerWithoutATrainerIsToldAndTheOthersGoOn) {
  ForeignWorld world(2);
  world.StartServer();
  world.StartWorker(0);
  world.brought = nullptr;
  const WorkerBox& without = world.StartWorker(1);
  Finish(world);
  EXPECT_TRUE(world.result->status.ok()) << world.result->status.ToString();
  EXPECT_EQ(without.ended->code(), StatusCode::kConflict);
  EXPECT_THAT(without.ended->ToString(), HasSubstr("this worker has none"));
  EXPECT_THAT(world.watcher.lost.at(1).message(), HasSubstr("it left: the job has a trainer"));
  EXPECT_TRUE(world.workers[0]->ended->ok());
}

TEST(ForeignJob, AStandingWorkerDeclinesAJobThatIsNotForItAndServesTheNext) {
  ForeignWorld world(2);
  world.options.gather_time = Duration::zero();
  world.options.start_timeout = std::chrono::minutes(10);
  world.StartServer();
  world.brought = nullptr;
  world.worker_forever = true;
  const WorkerBox& standing = world.StartWorker(1);
  ASSERT_TRUE(world.RunUntil([&] { return !world.watcher.lost.empty(); }));
  world.loop.RunUntilTime(world.loop.Now() + std::chrono::seconds(100));
  EXPECT_FALSE(standing.ended) << standing.ended->ToString();
  ASSERT_THAT(standing.said, testing::SizeIs(1)) << "not anew with each try";
  EXPECT_THAT(standing.said[0], HasSubstr("this worker has none"));
  EXPECT_THAT(standing.said[0], HasSubstr("; trying again"));
  world.brought = Share(Squares());
  world.worker_forever = false;
  world.StartWorker(0);
  EXPECT_TRUE(world.Run().status.ok());
  world.result.reset();
  world.server.reset();
  world.server_transport = world.network.MakeTransport();
  ASSERT_TRUE(world.server_transport->Listen("server").ok());
  world.options.job_id += 1;
  world.options.foreign = nullptr;
  world.job_source = &world.source;
  world.StartServer();
  EXPECT_TRUE(world.Run().status.ok());
  EXPECT_FALSE(standing.ended);
  EXPECT_THAT(standing.said, testing::Contains(HasSubstr("joined the job")));
}

TEST(ForeignJob, AStandingWorkerThatDeclinesCanBeStopped) {
  ForeignWorld world(1);
  world.StartServer();
  world.brought = nullptr;
  world.worker_forever = true;
  const WorkerBox& standing = world.StartWorker(0);
  ASSERT_TRUE(world.RunUntil([&] { return !world.watcher.lost.empty(); }));
  standing.node->Leave();
  ASSERT_TRUE(world.RunUntil([&] { return standing.ended.has_value(); }));
  EXPECT_EQ(standing.ended->code(), StatusCode::kCancelled);
}

TEST(ForeignJob, AWorkerWithATrainerIsNotForABuiltInModel) {
  ForeignWorld world(2);
  world.options.foreign = nullptr;
  world.job_source = &world.source;
  world.StartServer();
  const WorkerBox& with = world.StartWorker(0);
  world.brought = nullptr;
  world.StartWorker(1);
  Finish(world);
  EXPECT_TRUE(world.result->status.ok()) << world.result->status.ToString();
  EXPECT_EQ(with.ended->code(), StatusCode::kConflict);
  EXPECT_THAT(with.ended->ToString(), HasSubstr("the built-in model softmax"));
}

TEST(ForeignJob, TrainersOfAnotherSizeEndAJobThatNobodyElseJoins) {
  ForeignWorld world(2);
  ForeignTrainer other = Squares();
  other.parameter_count = 9;
  world.brought = Share(other);
  world.StartServer();
  world.StartWorkers();
  Finish(world);
  EXPECT_EQ(world.result->status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(world.result->status.ToString(), HasSubstr("trainer has 3 parameters"));
  for (const auto& worker : world.workers) {
    EXPECT_EQ(worker->ended->code(), StatusCode::kConflict);
    EXPECT_THAT(worker->ended->ToString(), HasSubstr("this worker's 9"));
  }
}

ForeignTrainer Failing(StepId at) {
  ForeignTrainer trainer = Squares();
  trainer.accumulate = [at](const ForeignWork& work) {
    return work.step >= at ? Status::Callback("accumulate returned 42") : AddSquares(work);
  };
  return trainer;
}

TEST(ForeignJob, AFailingCallbackEndsItsWorkerOnly) {
  ForeignWorld world(3, "repetition");
  world.StartServer();
  world.StartWorker(0);
  world.StartWorker(1);
  world.brought = Share(Failing(4));
  const WorkerBox& failing = world.StartWorker(2);
  Finish(world);
  EXPECT_TRUE(world.result->status.ok()) << world.result->status.ToString();
  EXPECT_EQ(failing.ended->code(), StatusCode::kCallback);
  EXPECT_THAT(failing.ended->ToString(), HasSubstr("step 4"));
  EXPECT_THAT(failing.ended->ToString(), HasSubstr("accumulate returned 42"));
  EXPECT_THAT(world.watcher.lost.at(2).ToString(), HasSubstr("accumulate returned 42"));
  const std::vector<double> serial = TrainSerially(world.options);
  for (size_t i = 0; i < kParameters; ++i) {
    EXPECT_NEAR((*world.result->parameters)[i], serial[i], 2e-5);
  }
}

TEST(ForeignJob, WhenAllFailTheJobSaysWhy) {
  ForeignWorld world(2);
  world.brought = Share(Failing(3));
  world.StartServer();
  world.StartWorkers();
  Finish(world);
  EXPECT_EQ(world.result->status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(world.result->status.ToString(), HasSubstr("accumulate returned 42"));
  EXPECT_EQ(world.result->steps, 3u);
}

TEST(ForeignJob, AWorkerThatCannotHoldItsPartLeaves) {
  ForeignWorld world(2);
  world.StartServer();
  world.StartWorker(0);
  ForeignTrainer trainer = Squares();
  trainer.hold = [](PartitionId, uint64_t, uint64_t) { return Status::Callback("hold said 5"); };
  world.brought = Share(trainer);
  const WorkerBox& failing = world.StartWorker(1);
  Finish(world);
  EXPECT_TRUE(world.result->status.ok()) << world.result->status.ToString();
  EXPECT_EQ(failing.ended->code(), StatusCode::kCallback);
  EXPECT_THAT(failing.ended->ToString(), HasSubstr("hold said 5"));
}

TEST(ForeignJob, AnAnswerThatIsNotFiniteIsRefusedAndTheWorkGoesOn) {
  ForeignWorld world(2);
  ForeignTrainer once = Squares();
  once.accumulate = [spoilt = std::make_shared<bool>(false)](const ForeignWork& work) {
    if (work.step == 2 && !std::exchange(*spoilt, true)) {
      *work.loss = std::numeric_limits<double>::quiet_NaN();
    }
    return AddSquares(work);
  };
  world.StartServer();
  world.StartWorker(0);
  world.brought = Share(once);
  world.StartWorker(1);
  const JobResult& result = world.Run();
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.scheduler.workers[1].rejected, 1u);
  EXPECT_THAT(world.watcher.lost, IsEmpty());
  EXPECT_THAT(result.batch_loss, Not(testing::Contains(testing::IsNan())));
}

}  // namespace
}  // namespace motley
