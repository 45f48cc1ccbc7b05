// SPDX-License-Identifier: Apache-2.0
// Workers that lose their connection and return, and peers that fall silent.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "devices/forwarding_device.h"
#include "devices/joined_device.h"
#include "runtime/links/heartbeat.h"
#include "runtime/links/messages.h"
#include "sim/world/sim_disk.h"
#include "sim/world/sim_store.h"
#include "tests/runtime/forwarding_transport.h"
#include "tests/runtime/held_transport.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

using std::chrono::seconds;

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The worker's connection is up, and a server accepts it.
void Accepted(HeldTransport& transport, PeerId peer) {
  transport.receiver->OnConnected(peer, {});
  wire::AcceptT accept;
  accept.batch = 10;
  accept.partition_sizes = {10, 10};
  accept.features = 6;
  accept.classes = 3;
  accept.model = "softmax";
  accept.slice_length = 6;
  accept.shard_ends = {VectorLength(21)};
  const Bytes bytes = EncodeControl(accept);
  const Header header{.length = static_cast<uint32_t>(bytes.size())};
  std::copy(bytes.begin(), bytes.end(), transport.receiver->OnPayload(peer, header).begin());
  transport.receiver->OnPayloadDone(peer, header, false);
}

// Until then the server may die, and the run that resumes the job needs workers.
TEST(Goodbye, IsSaidWhenTheLastCheckpointIsSafe) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.options.checkpoint.every = world.options.steps;
  world.options.checkpoint.run = 77;
  SimStore store(1);
  const auto disk = MakeSimDisk(world.loop, store, {.per_piece = seconds(40)});
  world.disk = disk.get();
  world.StartServer();
  world.StartWorkers();
  const int steps = static_cast<int>(world.options.steps);
  ASSERT_TRUE(world.RunUntil([&] { return world.watcher.applied == steps; }));
  const Time before_it_is_safe = world.loop.Now() + seconds(20);
  world.loop.RunUntilTime(before_it_is_safe);
  world.CutAll();  // A worker that returns meanwhile receives the goodbye as well.
  world.loop.RunUntilTime(before_it_is_safe + seconds(10));
  for (const auto& worker : world.workers) EXPECT_FALSE(worker->ended.has_value());
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.checkpoint_step, world.options.steps);
  for (const auto& worker : world.workers) {
    ASSERT_TRUE(world.RunUntil([&] { return worker->ended.has_value(); }));
    EXPECT_TRUE(worker->ended->ok()) << worker->ended->ToString();
    EXPECT_TRUE(Has(worker->said.back(), "the job is done")) << worker->said.back();
  }
}

// All workers lose their connections at once, as when a switch restarts.
class AllCut : public testing::TestWithParam<const char*> {};

TEST_P(AllCut, TheJobWaitsAndGoesOnWithThemAsIfNothingHadHappened) {
  JobWorld world(JobWorld::Options(3, GetParam()));
  world.options.steps = 20;
  world.StartServer();
  world.StartWorkers();
  world.watcher.on_step = [&](StepId step) {
    if (world.watcher.opened > 40) return;  // A step that begins again does not cut again.
    if (step % 6 == 3) world.loop.Post([&] { world.CutAll(); });
  };
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.steps, 20u);
  EXPECT_EQ(result.discarded_steps, 0u);
  EXPECT_FALSE(Only<notice::AllGone>(world.watcher.scheduler_notices).empty());
  for (const auto& worker : world.workers) {
    ASSERT_TRUE(world.RunUntil([&] { return worker->ended.has_value(); }));
    EXPECT_TRUE(worker->ended->ok()) << worker->ended->ToString();
  }
  const std::vector<double> serial = world.SerialParameters();
  if (std::string(GetParam()) == "approximate") return;
  for (size_t i = 0; i < serial.size(); ++i) EXPECT_NEAR((*result.parameters)[i], serial[i], 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Codes, AllCut,
                         testing::Values("none", "repetition", "cyclic", "heterogeneous", "group",
                                         "multi-message", "partial-coded", "adaptive", "auto",
                                         "approximate"),
                         [](const auto& tested) { return TestNameOf(tested.param); });

TEST(Reconnect, AJobWithoutWorkersEndsWhenNobodyComesBack) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.options.return_timeout = seconds(40);
  world.StartServer();
  WorkerBox& only = world.StartWorker(0);
  world.watcher.on_step = [&](StepId step) {
    if (step == 3) world.Kill(only);
  };
  const JobResult& result = world.Run();
  EXPECT_EQ(result.status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(Has(result.status.ToString(), "none came within 40 s")) << result.status.ToString();
  EXPECT_FALSE(Only<notice::AllGone>(world.watcher.scheduler_notices).empty());
  EXPECT_GE(world.loop.Now(), Time(seconds(40)));
}

TEST(Reconnect, AJobWhoseWorkersCannotComeBackEndsAtOnce) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  WorkerBox& only = world.StartWorker(0);
  world.watcher.on_step = [&](StepId step) {
    if (step == 3) world.Kill(only);
  };
  ASSERT_TRUE(world.RunUntil([&] { return !world.watcher.lost.empty(); }));
  world.server->DoNotExpect(0);
  const JobResult& result = world.Run();
  EXPECT_EQ(result.status.code(), StatusCode::kUnavailable);
  EXPECT_LT(world.loop.Now(), Time(seconds(30)));
}

TEST(Reconnect, AWorkerSaysWhatEndedItsConnection) {
  VirtualLoop loop;
  const auto host = MakeInlineDevice(loop).value();
  HeldTransport transport;
  WorkerOptions options{.server = "server", .token = kToken, .incarnation = 5};
  std::string said;
  options.tell = [&](const std::string& text) { said += text + "\n"; };
  const auto node = WorkerNode::Create({loop, transport, *host}, options);
  node->Start([](const Status& status) { FAIL() << status.ToString(); });
  Accepted(transport, 1);
  transport.receiver->OnLost(1, Status::DataError("its checksum is wrong").WithContext("dropped"));
  EXPECT_TRUE(Has(said, "lost the server at server: dropped: its checksum is wrong")) << said;
}

// A server accepts the worker and drops it with its first answer, again and again.
TEST(Reconnect, AWorkerThatIsLostRightAwayTakesItsTime) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  world.StartWorker(0);
  world.watcher.on_step = [&](StepId) { world.loop.Post([&] { world.CutAll(); }); };
  const Time end = world.loop.Now() + std::chrono::minutes(1);
  ASSERT_TRUE(world.RunUntil([&] { return world.loop.Now() >= end; }));
  EXPECT_GE(world.watcher.joined.size(), 30u);
  EXPECT_LE(world.watcher.joined.size(), 70u) << "each further try comes 1 to 2 s after the last";
}

// Keeps its work until it fails.
class HungDevice final : public ForwardingDevice<> {
 public:
  using ForwardingDevice::ForwardingDevice;
  void Submit(double, Work, Done done) override { held_.push_back(std::move(done)); }
  void Fail() {
    for (Done& done : std::exchange(held_, {})) done(Status::Unavailable("it fell off the bus"));
  }

 private:
  std::vector<Done> held_;
};

// The first message of a connection must be the Join. The server sends other peers away.
TEST(Reconnect, ADeviceThatFailsWhileTheWorkerConnectsIsNotReportedBeforeTheJoin) {
  VirtualLoop loop;
  const auto host = MakeInlineDevice(loop).value();
  const auto good = MakePacedDevice(loop, *host, {std::chrono::milliseconds(1), 1});
  HungDevice bad(*host);
  JoinedDevice joined(*host, {good.get(), &bad}, 1 << 20);
  HeldTransport transport;
  const WorkerOptions options{.server = "server", .token = kToken, .incarnation = 5};
  const auto node = WorkerNode::Create({loop, transport, joined}, options);
  node->Start([](const Status& status) { FAIL() << status.ToString(); });
  Accepted(transport, 1);
  loop.RunUntilTime(loop.Now() + seconds(1));
  transport.receiver->OnLost(1, Status::Unavailable("the cable was cut"));
  loop.RunUntil([&] { return transport.connections == 2; });
  const auto to_second = [&] {
    return std::count_if(transport.held.begin(), transport.held.end(),
                         [](const auto& each) { return each.second.peer == 2; });
  };
  bad.Fail();
  EXPECT_EQ(to_second(), 0);
  transport.receiver->OnConnected(2, {});
  EXPECT_EQ(to_second(), 1);
}

// The server still counts the worker as connected, because TCP may take long to notice the loss.
TEST(Reconnect, AWorkerTakesItsOwnSeatAgainBeforeTheServerNoticesTheLoss) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker first(world, 5);
  first.JoinAs(/*node=*/77);
  ASSERT_TRUE(world.RunUntil([&] { return first.accept.has_value(); }));
  FakeWorker again(world, 6);
  again.JoinAs(77);
  ASSERT_TRUE(world.RunUntil([&] { return again.accept.has_value(); }));
  EXPECT_TRUE(world.RunUntil([&] { return first.lost.has_value(); }));
  FakeWorker stranger(world, 7);
  stranger.JoinAs(78);
  ASSERT_TRUE(world.RunUntil([&] { return stranger.leave.has_value(); }));
  EXPECT_FALSE(again.lost) << "another process does not get it";
}

TEST(Silence, ASilentWorkersSeatIsTakenByANewcomer) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker silent(world, 5);
  silent.JoinAs(77, /*beats=*/true);
  ASSERT_TRUE(world.RunUntil([&] { return silent.accept.has_value(); }));
  const Time since = world.loop.Now();
  ASSERT_TRUE(world.RunUntil([&] { return !Only<notice::Quiet>(world.watcher.notices).empty(); }));
  EXPECT_LE(world.loop.Now() - since, kSilentAfter);
  FakeWorker next(world, 6);
  next.JoinAs(78);
  ASSERT_TRUE(world.RunUntil([&] { return next.accept.has_value(); }));
  EXPECT_TRUE(world.RunUntil([&] { return silent.lost.has_value(); }));
}

TEST(Silence, ASilentConnectionIsLostAfterAMinute) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker silent(world, 5);
  silent.JoinAs(77, /*beats=*/true);
  ASSERT_TRUE(world.RunUntil([&] { return silent.lost.has_value(); }));
  EXPECT_GE(world.loop.Now(), Time(seconds(59)));
  EXPECT_LE(world.loop.Now(), Time(seconds(63)));
}

// A worker joins and then sends nothing. The others begin, and a replacement may join.
TEST(Silence, TheStartDoesNotWaitForAWorkerThatIsMuteAfterItsJoin) {
  for (const bool beats : {true, false}) {
    JobWorld world(JobWorld::Options(2, "none"));
    world.options.start_timeout = std::chrono::minutes(9);
    world.StartServer();
    FakeWorker mute(world, 5);
    mute.JoinAs(77, beats);
    ASSERT_TRUE(world.RunUntil([&] { return mute.accept.has_value(); }));
    world.StartWorker(1);
    ASSERT_TRUE(world.RunUntil([&] { return world.watcher.applied > 0; }));
    EXPECT_LE(world.loop.Now(), Time(seconds(beats ? 5 : 65)));
    EXPECT_TRUE(world.Run().status.ok());
  }
}

TEST(Silence, WorkersThatComputeForLongAreHeard) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.options.steps = 2;
  world.StartServer();
  world.StartWorker(0, 1e-3);  // A step takes seconds at this speed.
  world.StartWorker(1, 1e-3);
  const JobResult& result = world.Run();
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_GT(world.loop.Now(), Time(seconds(8)));
  EXPECT_TRUE(Only<notice::Quiet>(world.watcher.notices).empty());
  for (const auto& worker : world.workers) {
    for (const std::string& text : worker->said) EXPECT_FALSE(Has(text, "has said nothing"));
  }
}

// The transport of a process that can be stopped: it sends nothing then.
class StoppedTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  SendId Send(PeerId peer, Header header, std::span<const BytesView> pieces, Priority priority,
              Done done) override {
    if (stopped) return 0;
    return ForwardingTransport::Send(peer, header, pieces, priority, std::move(done));
  }
  bool stopped = false;
};

// Others take over the shards of a stopped worker. Many short steps pass while it says nothing, and
// it must not get shards again meanwhile, because the job would wait until it takes them.
TEST(Silence, AStoppedOwnerOfShardsGetsNoneUntilItIsBack) {
  JobWorld world(JobWorld::Options(3, "none"));
  world.options.holders = JobOptions::Holders::kWorkers;
  world.options.shards = 3;
  world.options.optimizer.name = "momentum";
  world.options.steps = 100000;
  StoppedTransport* stopped = nullptr;
  world.wrap = [&](std::unique_ptr<Transport> real) {
    auto wrapped = std::make_unique<StoppedTransport>(std::move(real));
    if (world.workers.size() == 2) stopped = wrapped.get();
    return wrapped;
  };
  world.StartServer();
  world.StartWorkers();
  ASSERT_TRUE(world.RunUntil([&] { return world.watcher.applied == 9; }));
  ASSERT_NE(stopped, nullptr);
  stopped->stopped = true;
  world.loop.RunUntilTime(world.loop.Now() + seconds(20));
  EXPECT_GT(world.watcher.applied, 100);
}

// Other workers wait for a stopped one that owns shards, whatever they have to do themselves.
TEST(Silence, ALongStepNamesTheOwnerOfShardsThatIsSilent) {
  size_t named = 0;
  for (int turns = 0; turns < 40; ++turns) {
    SCOPED_TRACE(turns);
    JobWorld world(JobWorld::Options(3, "none"));
    world.options.holders = JobOptions::Holders::kWorkers;
    world.options.shards = 3;
    world.options.followers = 0;
    world.options.steps = 1000;
    std::vector<StoppedTransport*> transports;
    world.wrap = [&](std::unique_ptr<Transport> real) {
      auto wrapped = std::make_unique<StoppedTransport>(std::move(real));
      transports.push_back(wrapped.get());
      return wrapped;
    };
    world.StartServer();
    world.StartWorkers();
    std::function<void(int)> stop = [&](int left) {
      if (left == 0) transports[1]->stopped = true;
      if (left > 0) world.loop.Post([&stop, left] { stop(left - 1); });
    };
    world.watcher.on_step = [&](StepId step) {
      if (step == 9) stop(turns);
    };
    ASSERT_TRUE(world.RunUntil([&] { return transports[1]->stopped; }));
    world.loop.RunUntilTime(world.loop.Now() + seconds(20));
    for (const auto& step : Only<notice::LongStep>(world.watcher.scheduler_notices)) {
      if (step.taken < kSilentAfter) continue;
      EXPECT_EQ(step.awaited, std::vector<WorkerId>{1}) << ToSeconds(step.taken);
      ++named;
    }
  }
  EXPECT_GT(named, 0U);
}

// --- The heartbeat alone ---

class HeartbeatTest : public testing::Test {
 protected:
  void Pass(Duration duration) { loop_.RunUntilTime(loop_.Now() + duration); }
  size_t Beats() const { return transport_.sent.size(); }

  VirtualLoop loop_;
  HeldTransport transport_;
  int silent_ = 0, back_ = 0, lost_ = 0;
  Heartbeat heartbeat_{loop_,
                       transport_,
                       {[this](PeerId) { ++silent_; }, [this](PeerId, Duration) { ++back_; },
                        [this](PeerId) { ++lost_; }}};
};

TEST_F(HeartbeatTest, BeatsOnceASecondUnlessSomethingElseWasSaid) {
  heartbeat_.Watch(1, Header());
  Pass(seconds(10));
  EXPECT_GE(Beats(), 9u);
  EXPECT_LE(Beats(), 11u);
  const size_t before = Beats();
  for (int i = 0; i < 40; ++i) {
    transport_.traffic.sent += 10'000;
    Pass(std::chrono::milliseconds(250));
  }
  EXPECT_LE(Beats(), before + 1);
}

TEST_F(HeartbeatTest, SilenceIsToldOnceAndEndsWithTheFirstByte) {
  heartbeat_.Watch(1, Header());
  for (int i = 0; i < 20; ++i) {
    ++transport_.traffic.received;  // A long message may arrive in very small parts.
    Pass(seconds(1));
  }
  EXPECT_EQ(silent_, 0);
  Pass(kSilentAfter);
  EXPECT_EQ(silent_, 1);
  EXPECT_TRUE(heartbeat_.Silent(1));
  Pass(seconds(20));
  EXPECT_EQ(silent_, 1);
  ++transport_.traffic.received;
  Pass(seconds(1));
  EXPECT_EQ(back_, 1);
  EXPECT_FALSE(heartbeat_.Silent(1));
  Pass(kLostAfter + seconds(1));
  EXPECT_EQ(lost_, 1);
  EXPECT_EQ(loop_.pending(), 0u) << "nobody is watched any more";
}

// Silence is reported before kSilentAfter, so that a late timer does not delay the report beyond
// it.
TEST_F(HeartbeatTest, SilenceIsToldWithTimeToSpare) {
  heartbeat_.Watch(1, Header());
  for (int i = 0; i < 20; ++i) {
    Pass(std::chrono::milliseconds(510));
    ++transport_.traffic.received;
    Pass(kSilentAfter - std::chrono::milliseconds(200));
    EXPECT_EQ(silent_, i + 1);
  }
}

}  // namespace
}  // namespace motley
