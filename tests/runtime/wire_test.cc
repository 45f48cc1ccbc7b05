// SPDX-License-Identifier: Apache-2.0
// Jobs whose answers and parameters travel in other formats than float32.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/shard/publisher.h"
#include "runtime/worker/worker_inbox.h"
#include "tests/runtime/held_transport.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

using Holders = JobOptions::Holders;

JobOptions Options(WireFormat wire, const std::string& code, Holders holders) {
  JobOptions options = JobWorld::Options(4, code);
  options.wire = wire;
  options.unweighted = true;
  options.audit_fraction = 0;
  options.holders = holders;
  options.shards = holders == Holders::kWorkers ? 3 : 1;
  return options;
}

JobResult ResultOf(const JobOptions& options) {
  JobWorld world(options);
  world.StartServer();
  world.StartWorkers();
  world.Run();
  return *world.result;
}

struct Shape {
  WireFormat wire;
  Holders holders;
  std::string code;
};

void PrintTo(const Shape& job, std::ostream* out) { *out << NameOf(job.wire) << ", " << job.code; }

std::vector<Shape> Shapes() {
  std::vector<Shape> all;
  for (const WireFormat wire : {WireFormat::kBf16, WireFormat::kInt8}) {
    for (const Holders holders : {Holders::kServer, Holders::kWorkers}) {
      for (const char* code : {"none", "repetition", "cyclic", "heterogeneous", "short",
                               "partial-coded", "multi-message", "adaptive", "auto"}) {
        all.push_back({wire, holders, code});
      }
    }
  }
  return all;
}

class WireJobs : public testing::TestWithParam<Shape> {};

TEST_P(WireJobs, TrainsLikeFloat32) {
  const Shape& job = GetParam();
  JobWorld world(Options(job.wire, job.code, job.holders));
  world.StartServer();
  world.StartWorkers();
  const JobResult& end = world.Run();
  ASSERT_TRUE(end.status.ok()) << end.status.ToString();
  EXPECT_EQ(end.steps, world.options.steps);
  EXPECT_EQ(end.scheduler.steps_restarted, 0u);
  for (const WorkerStats& worker : end.scheduler.workers) EXPECT_EQ(worker.rejected, 0u);
  const std::vector<double> serial = world.SerialParameters();
  const std::vector<float> expected(serial.begin(), serial.end());
  const double loss = world.Loss(expected);
  EXPECT_LT(loss, std::log(4.0)) << "the job learns";
  EXPECT_NEAR(world.Loss(*end.parameters), loss, 0.02 * loss);
  double gap = 0;
  double squares = 0;
  for (size_t i = 0; i < serial.size(); ++i) {
    gap += std::pow(end.parameters->at(i) - serial[i], 2);
    squares += serial[i] * serial[i];
  }
  EXPECT_GT(gap, 0) << "something was rounded";
  EXPECT_LT(std::sqrt(gap / squares), job.wire == WireFormat::kInt8 ? 0.05 : 0.02);
  const JobResult again = ResultOf(world.options);
  EXPECT_EQ(*again.parameters, *end.parameters);
}

INSTANTIATE_TEST_SUITE_P(Formats, WireJobs, testing::ValuesIn(Shapes()), [](const auto& tested) {
  const Shape& job = tested.param;
  return std::string(NameOf(job.wire)) + "_" + TestNameOf(job.code) +
         (job.holders == Holders::kServer ? "" : "_direct");
});

TEST(Wire, BearsLostWorkers) {
  for (const Holders holders : {Holders::kServer, Holders::kWorkers}) {
    const JobOptions options = Options(WireFormat::kInt8, "repetition", holders);
    const JobResult reference = ResultOf(options);
    JobWorld world(options);
    world.StartServer();
    for (const double speed : {1.0, 4.0, 0.3, 2.0}) {
      world.StartWorker(static_cast<int32_t>(world.workers.size()), speed);
    }
    bool killed = false;
    world.watcher.on_step = [&](StepId step) {
      if (step == 5 && !std::exchange(killed, true)) world.Kill(*world.workers[2]);
    };
    const JobResult& end = world.Run();
    ASSERT_TRUE(end.status.ok()) << end.status.ToString();
    for (size_t i = 0; i < end.parameters->size(); ++i) {
      // Shares follow the speeds, so that rows differ.
      EXPECT_NEAR(end.parameters->at(i), reference.parameters->at(i), 0.01) << i;
    }
  }
}

TEST(Wire, RefusesAnswersThatAreNotFinite) {
  for (const WireFormat wire : {WireFormat::kBf16, WireFormat::kInt8}) {
    for (const Holders holders : {Holders::kServer, Holders::kWorkers}) {
      JobWorld world(Options(wire, "none", holders));
      world.StartServer();
      world.StartWorkers();
      bool poisoned = false;
      world.workers[1]->node->SetAnswerFilter([&](StepId step, std::span<float> answer) {
        if (step != 3 || std::exchange(poisoned, true)) return;
        answer[answer.size() / 2] = std::numeric_limits<float>::infinity();
      });
      const JobResult& end = world.Run();
      ASSERT_TRUE(end.status.ok()) << end.status.ToString();
      EXPECT_TRUE(poisoned);
      uint64_t rejected = 0;
      for (const WorkerStats& worker : end.scheduler.workers) rejected += worker.rejected;
      EXPECT_EQ(rejected, 1u);
      for (const float value : *end.parameters) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

// The bytes between server and workers in some steps, in both directions.
double BytesOf(WireFormat wire) {
  JobOptions options = Options(wire, "none", Holders::kServer);
  options.model.name = "mlp:2000";
  options.slice_length = 1 << 12;
  JobWorld world(options);
  world.StartServer();
  world.StartWorkers();
  double before = 0;
  double after = 0;
  world.watcher.on_step = [&](StepId step) {
    if (step != 3 && step != 9) return;
    double sum = 0;
    for (PeerId peer = 1; peer <= 8; ++peer) {
      const Traffic traffic = world.server_transport->TrafficOf(peer);
      sum += static_cast<double>(traffic.sent + traffic.received);
    }
    (step == 3 ? before : after) = sum;
  };
  EXPECT_TRUE(world.Run().status.ok());
  return after - before;
}

TEST(Wire, SendsFewerBytes) {
  const double usual = BytesOf(WireFormat::kFloat32);
  EXPECT_GT(usual, 6 * 4 * 2 * 4 * 24000) << "six steps, four workers, both ways";
  EXPECT_LT(BytesOf(WireFormat::kBf16), 0.53 * usual);
  EXPECT_LT(BytesOf(WireFormat::kInt8), 0.3 * usual);
}

// Every worker computes with the same parameters.
TEST(Wire, RoundsAVersionOnceForAllWorkers) {
  constexpr size_t kLength = 1000;
  Random random(4, Stream::kTest);
  std::vector<float> values(kLength);
  for (float& value : values) value = static_cast<float>(random.Normal());
  for (const WireFormat wire : kWireFormats) {
    const Slicing cut({600, kLength}, 300, wire);
    const auto version = std::make_shared<const std::vector<float>>(values);
    const auto newest = [](uint64_t) { return nullptr; };
    HeldTransport transport;
    Publisher first(transport, cut, 0, newest, 7);
    Publisher second(transport, cut, 1, newest, 7);
    std::vector<float> of_first;
    for (const PeerId peer : {1, 2}) {
      ParameterInbox inbox(cut);
      Publisher::Reader other(second, peer, Header());
      Publisher::Reader one(first, peer, Header());
      one.Publish(3, version);
      other.Publish(3, version);
      while (!transport.held.empty()) {
        auto message = transport.LetGo();
        message.header.length = static_cast<uint32_t>(message.bytes.size());
        const auto room = inbox.Begin(message.header);
        ASSERT_TRUE(room.ok()) << room.status().ToString();
        ASSERT_EQ(room->size(), message.bytes.size());
        std::copy(message.bytes.begin(), message.bytes.end(), room->begin());
        ASSERT_TRUE(inbox.Finish().ok());
      }
      const auto version_here = inbox.AtLeast(3);
      ASSERT_NE(version_here, nullptr);
      const std::vector<float> copy(version_here->begin(), version_here->end());
      EXPECT_EQ(copy == values, wire == WireFormat::kFloat32);
      for (size_t i = 0; i < kLength; ++i) ASSERT_NEAR(copy[i], values[i], 0.04) << i;
      if (of_first.empty()) of_first = copy;
      EXPECT_EQ(copy, of_first);
    }
  }
}

TEST(Wire, RefusesParametersThatMakeNoSense) {
  ParameterInbox inbox(Slicing(6, 4, WireFormat::kInt8));
  Header header;
  header.version = 1;
  header.total = 6;
  header.length = 8;
  EXPECT_FALSE(inbox.Begin(header).ok()) << "another format";
  header.format = WireFormat::kInt8;
  const auto room = inbox.Begin(header);
  ASSERT_TRUE(room.ok()) << room.status().ToString();
  std::fill(room->begin(), room->end(), std::byte{0x80});
  EXPECT_EQ(inbox.Finish().code(), StatusCode::kDataError);
  EXPECT_EQ(inbox.AtLeast(1), nullptr);
}

}  // namespace
}  // namespace motley
