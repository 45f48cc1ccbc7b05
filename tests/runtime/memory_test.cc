// SPDX-License-Identifier: Apache-2.0
// Models that do not fit into memory, and jobs whose device cannot do its checks.
#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "devices/joined_device.h"
#include "runtime/memory_need.h"
#include "runtime/worker/workshop.h"
#include "tests/runtime/job_world.h"
#include "tests/runtime/odd_device.h"
#include "training/trainers/term_work.h"

namespace motley {
namespace {

TEST(Memory, WhatFitsToTheByteIsTakenAndNotOneByteMore) {
  EXPECT_TRUE(CheckMemory("the server", 1000, 5, 20000).ok());
  const Status refused = CheckMemory("the server", 1000, 5, 19999);
  EXPECT_EQ(refused.code(), StatusCode::kResource);
  EXPECT_NE(refused.message().find("1000 parameters"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find("needs 0.02 MiB"), std::string::npos) << refused.message();
}

TEST(Memory, SizesBeyondEveryIntegerAreRefusedAndNotWrappedAround) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(CheckMemory("the server", most / 4 + 2, 4, most - 1).code(), StatusCode::kResource);
  EXPECT_EQ(CheckMemory("the server", most, most, most - 1).code(), StatusCode::kResource);
}

TEST(Memory, OfAnUnknownSizeTakesAnything) {
  EXPECT_TRUE(CheckMemory("the server", 1u << 31, 100, 0).ok());
}

TEST(Memory, ToleratingMoreAndAdamNeedMoreVectors) {
  JobOptions plain = JobWorld::Options(4, "none");
  JobOptions coded = JobWorld::Options(4, "rs");
  coded.tolerate = 3;
  EXPECT_EQ(ServerVectors(coded), ServerVectors(plain) + 3);
  // There are one and a half vectors of sums, and a quarter for the noise floor.
  JobOptions short_answers = JobWorld::Options(4, "short");
  EXPECT_EQ(ServerVectors(short_answers), ServerVectors(plain) + 1);
  JobOptions kept = JobWorld::Options(4, "partial-coded");
  EXPECT_EQ(ServerVectors(kept), ServerVectors(plain) + 1) << "workers keep, the server does not";
  JobOptions adam = plain;
  adam.optimizer.name = "adam";
  EXPECT_EQ(ServerVectors(adam), ServerVectors(plain) + 2);
}

TEST(Memory, GapsNeedTheVersionsOfOpenUpdatesAndTheMeanSteps) {
  JobOptions plain = JobWorld::Options(4, "none");
  plain.sync.one_each = true;
  JobOptions gap = plain;
  gap.old_gradients = OldGradients::kGap;
  EXPECT_EQ(ServerVectors(gap), ServerVectors(plain) + 4 + 1);
}

// The server of such a job has the first version and the result, and what it saves.
TEST(Memory, OfAVectorIsWhereTheVectorIs) {
  constexpr uint64_t kVector = uint64_t{400} << 20;  // Bytes.
  const auto vectors = [](uint64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(kVector);
  };
  JobOptions options = JobWorld::Options(4, "none");
  options.optimizer.name = "adam";
  const UsualMemory star = UsualMemoryOf(options, kVector / sizeof(float), false);
  EXPECT_NEAR(vectors(star.worker), 2, 0.1);
  EXPECT_GT(vectors(star.server), 6);
  EXPECT_EQ(star.part, 0u);
  options.holders = JobOptions::Holders::kWorkers;
  UsualMemory direct = UsualMemoryOf(options, kVector / sizeof(float), true);
  EXPECT_EQ(ServerVectors(options), 5u) << "the audits may need four";
  EXPECT_NEAR(vectors(direct.server), 2, 0.1) << "they usually need two";
  options.audit_fraction = 0;
  direct = UsualMemoryOf(options, kVector / sizeof(float), true);
  EXPECT_EQ(ServerVectors(options), 1u);
  EXPECT_NEAR(vectors(direct.server), 1, 0.1);
  EXPECT_NEAR(vectors(direct.part), (6. + 4.) / 4, 0.1);
  EXPECT_NEAR(vectors(direct.worker), 2 + vectors(direct.part), 0.1);
  options.checkpoint.every = 10;
  options.followers = 3;
  direct = UsualMemoryOf(options, kVector / sizeof(float), true);
  EXPECT_EQ(ServerVectors(options), 3u);
  EXPECT_NEAR(vectors(direct.part), (6. + 3 * 4. + 3.) / 4, 0.1) << "with what owners keep";
  options.checkpoint.every = options.steps;
  direct = UsualMemoryOf(options, kVector / sizeof(float), true);
  EXPECT_NEAR(vectors(direct.part), (6. + 3 * 4.) / 4, 0.1) << "nothing is read beside steps";
  EXPECT_NE(DescribeMemory(options, kVector / sizeof(float)).find("1.19 GiB at the server"),
            std::string::npos)
      << DescribeMemory(options, kVector / sizeof(float));
}

// Shard servers follow each other's shards, and workers follow if there are too few of them.
TEST(Memory, OfWorkersWithFewShardServersHasWhatTheyFollow) {
  constexpr uint64_t kVector = uint64_t{400} << 20;  // Bytes.
  JobOptions options = JobWorld::Options(4, "none");
  options.optimizer.name = "adam";
  options.holders = JobOptions::Holders::kShardServers;
  const auto vectors = [&](uint32_t servers, uint32_t followers) {
    options.shard_servers = servers;
    options.followers = followers;
    const UsualMemory usual = UsualMemoryOf(options, kVector / sizeof(float), true);
    return static_cast<double>(usual.worker) / static_cast<double>(kVector);
  };
  EXPECT_NEAR(vectors(1, 0), 2, 0.1);
  EXPECT_NEAR(vectors(1, 1), 2 + 4. / 4, 0.1);
  EXPECT_NEAR(vectors(2, 1), 2, 0.1);
  EXPECT_NEAR(vectors(2, 3), 2 + 2 * 4. / 4, 0.1);
  EXPECT_NEAR(vectors(4, 3), 2, 0.1);
}

TEST(Memory, RunningOutIsAStatusAndNotAnException) {
  const Status none = OrNoMemory("a vector", []() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(none.code(), StatusCode::kResource) << none.ToString();
  EXPECT_NE(none.message().find("a vector"), std::string::npos);
  const Status beyond = OrNoMemory("a vector", [] {
    const std::vector<char> huge(std::numeric_limits<size_t>::max());
    return huge.empty() ? Status::Internal("it is empty") : Status::Ok();
  });
  EXPECT_EQ(beyond.code(), StatusCode::kResource) << beyond.ToString();
}

TEST(Memory, AModelThatDoesNotFitIsRefusedByTheServer) {
  JobWorld world(JobWorld::Options(2, "none"));
  OddDevice device(*world.server_device);
  const auto create = [&] {
    return ServerNode::Create({world.loop, *world.server_transport, device}, world.options,
                              world.source, nullptr);
  };
  device.SetMemory(32 * sizeof(float) * ServerVectors(world.options));
  EXPECT_TRUE(create().ok());
  device.SetMemory(32 * sizeof(float) * ServerVectors(world.options) - 1);
  const auto refused = create();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), StatusCode::kResource) << refused.status().ToString();
  EXPECT_NE(refused.status().message().find("smaller model"), std::string::npos);
}

// Reports more samples than any test could make. Nobody may read one.
class BoundlessSource final : public DataSource {
 public:
  DataShape shape() const override {
    return {.rows = uint64_t{1} << 32, .features = 4096, .classes = 3};
  }
  Result<Dataset> Range(size_t, size_t) const override { return Refuse(); }
  Result<Dataset> Gather(std::span<const uint32_t>) const override { return Refuse(); }

 private:
  static Result<Dataset> Refuse() {
    ADD_FAILURE() << "samples were asked for";
    return Status::Internal("there are none");
  }
};

TEST(Memory, PartitionsThatNoWorkerWouldAcceptAreRefusedByTheServer) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.options.partitions = 1024;  // Partitions of 64 GiB each.
  const BoundlessSource data;
  const auto refused = ServerNode::Create(
      {world.loop, *world.server_transport, *world.server_device}, world.options, data, nullptr);
  ASSERT_EQ(refused.code(), StatusCode::kInvalidArgument) << refused.status().ToString();
  EXPECT_NE(refused.status().message().find("64.02 GiB and a worker accepts 2 GiB"),
            std::string::npos)
      << refused.status().ToString();
}

TEST(Memory, ModelsOfAnySizeAreRefusedWithWords) {
  for (const char* name : {"mlp:1048576,4000", "mlp:4000000000", "mlp:1048576,1048576"}) {
    JobWorld world(JobWorld::Options(2, "none"));
    world.options.model.name = name;
    OddDevice device(*world.server_device);
    device.SetMemory(uint64_t{1} << 30);
    const auto refused = ServerNode::Create({world.loop, *world.server_transport, device},
                                            world.options, world.source, nullptr);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_TRUE(refused.code() == StatusCode::kResource ||
                refused.code() == StatusCode::kInvalidArgument)
        << refused.status().ToString();
  }
}

// A job of 32 parameters.
wire::AcceptT Welcome() {
  wire::AcceptT accept;
  accept.model = "softmax";
  accept.features = 7;
  accept.classes = 4;
  accept.batch = 10;
  accept.slice_length = 6;
  accept.shard_ends = {32};
  accept.partition_sizes = {100};
  return accept;
}

// The host holds a worker's vectors. A card holds parameters, their gradient and some samples.
TEST(Memory, EveryCardOfAWorkerNeedsTheModelAndTheHostTheVectors) {
  VirtualLoop loop;
  const auto inner = MakeInlineDevice(loop).value();
  const uint64_t least = LeastBytes(*Model::Create({"softmax", 7, 4}).value());
  EXPECT_LT(least, 32 * sizeof(float) * WorkerVectors());
  OddDevice host(*inner), one(*inner), other(*inner);
  host.SetMemory(1 << 20);
  one.SetCard(least);
  other.SetCard(1 << 20);
  JoinedDevice joined(host, {&one, &other, &host}, 3 << 20);
  for (Device* const device : std::initializer_list<Device*>{&one, &joined}) {
    one.SetCard(least);
    EXPECT_TRUE(MakeWorkshop(loop, *device, Welcome()).ok());
    one.SetCard(least - 1);
    const auto refused = MakeWorkshop(loop, *device, Welcome());
    EXPECT_EQ(refused.code(), StatusCode::kResource);
    EXPECT_NE(refused.status().message().find("leave it out"), std::string::npos);
  }
  one.SetCard(least);
  host.SetMemory(32 * sizeof(float) * (WorkerVectors() + 3));
  EXPECT_TRUE(MakeWorkshop(loop, joined, Welcome()).ok());
  host.SetMemory(32 * sizeof(float) * (WorkerVectors() + 3) - 1);
  EXPECT_EQ(MakeWorkshop(loop, joined, Welcome()).code(), StatusCode::kResource)
      << "whatever memory the cards have";
}

TEST(Welcome, NoWordOfAServerSteersATerminal) {
  VirtualLoop loop;
  const auto device = MakeInlineDevice(loop).value();
  for (const char* name : {"softmax\x1b[31m", "\x1b]0;title\x07", "a\nb", "\xff"}) {
    wire::AcceptT accept = Welcome();
    accept.model = name;
    const auto refused = MakeWorkshop(loop, *device, accept);
    ASSERT_EQ(refused.code(), StatusCode::kDataError);
    EXPECT_EQ(refused.status().message().find_first_of("\x1b\n\x07\xff"), std::string::npos);
  }
}

// A batch schedule numbers samples with 32 bits, and asserts this.
TEST(Welcome, MoreSamplesThanAJobMayHaveAreRefused) {
  VirtualLoop loop;
  const auto device = MakeInlineDevice(loop).value();
  wire::AcceptT accept = Welcome();
  accept.partition_sizes = {4'000'000'000, 4'000'000'000};
  EXPECT_EQ(MakeWorkshop(loop, *device, accept).code(), StatusCode::kDataError);
}

TEST(Memory, AModelThatDoesNotFitIsRefusedByTheWorker) {
  VirtualLoop loop;
  auto inner = MakeInlineDevice(loop);
  ASSERT_TRUE(inner.ok()) << inner.status().ToString();
  OddDevice device(**inner);
  const wire::AcceptT accept = Welcome();
  device.SetMemory(32 * sizeof(float) * WorkerVectors());
  EXPECT_TRUE(MakeWorkshop(loop, device, accept).ok());
  device.SetMemory(32 * sizeof(float) * WorkerVectors() - 1);
  EXPECT_EQ(MakeWorkshop(loop, device, accept).code(), StatusCode::kResource);
}

TEST(Audit, ThatFailsIsToldOnceAndTheJobGoesOn) {
  JobWorld world(JobWorld::Options(2, "none"));
  OddDevice device(*world.server_device);
  device.FailSamples(Status::Resource("the device is full"));
  auto made = ServerNode::Create({world.loop, *world.server_transport, device}, world.options,
                                 world.source, &world.watcher);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const auto server = std::move(made).value();
  server->Start([&](JobResult end) { world.result = std::move(end); });
  world.StartWorkers();
  const JobResult& result = world.Run();
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.audited_steps, 0u);
  const auto trouble = Only<notice::Trouble>(world.watcher.notices);
  ASSERT_EQ(trouble.size(), 1u);
  const std::string what = trouble[0].what.ToString();
  EXPECT_NE(what.find("step 0 could not be audited"), std::string::npos) << what;
  EXPECT_NE(what.find("the device is full"), std::string::npos) << what;
}

}  // namespace
}  // namespace motley
