// SPDX-License-Identifier: Apache-2.0
// How workers join, and who is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/links/messages.h"
#include "tests/runtime/held_transport.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

using ::testing::ElementsAre;

TEST(Join, AWrongTokenIsRefusedAndTheJobGoesOnWithoutIt) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  WorkerBox& stranger = world.StartWorker(0, 1, "guess");
  ASSERT_TRUE(world.RunUntil([&] { return stranger.ended.has_value(); }));
  EXPECT_EQ(stranger.ended->code(), StatusCode::kPermission) << stranger.ended->ToString();
  EXPECT_TRUE(world.watcher.joined.empty());
  world.StartWorkers();
  EXPECT_TRUE(world.Run().status.ok());
}

// Tokens that are similar to the right one: shorter, longer, repeated, slightly different.
std::vector<std::string> WrongTokens() {
  const std::string right = kToken;
  std::vector<std::string> wrong = {right + right, right + "x", right + std::string(1, '\0'),
                                    right + std::string(right.size(), '\0'), "Secret"};
  for (size_t length = 0; length < right.size(); ++length) wrong.push_back(right.substr(0, length));
  for (size_t bit = 0; bit < 8 * right.size(); ++bit) {
    wrong.push_back(right);
    wrong.back()[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
  return wrong;
}

TEST(Join, OnlyTheWholeTokenIsTheToken) {
  EXPECT_TRUE(SameToken(kToken, kToken));
  for (const std::string& wrong : WrongTokens()) {
    EXPECT_FALSE(SameToken(wrong, kToken)) << wrong;
    EXPECT_FALSE(SameToken(kToken, wrong)) << wrong;
  }
  EXPECT_FALSE(SameToken("", std::string(1, '\0')));
  EXPECT_FALSE(SameToken(std::string(1, '\0'), ""));
}

TEST(Join, NoWorkerComesInWithAPartOrAMultipleOfTheToken) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  const std::string right = kToken;
  for (const std::string& token : {std::string(), right.substr(0, 1), right + right, right + "x"}) {
    FakeWorker stranger(world, 5);
    stranger.Join(-1, token);
    ASSERT_TRUE(world.RunUntil([&] { return stranger.leave.has_value(); })) << token;
    ASSERT_EQ(stranger.errors.size(), 1u) << token;
    EXPECT_EQ(StatusOf(stranger.errors[0]).code(), StatusCode::kPermission) << token;
    EXPECT_FALSE(stranger.accept) << token;
  }
  EXPECT_TRUE(world.watcher.joined.empty());
  world.StartWorkers();
  EXPECT_TRUE(world.Run().status.ok());
}

TEST(Join, TwoWorkersWithTheSameHintGetDifferentPlaces) {
  JobWorld world(JobWorld::Options(3, "none"));
  world.StartServer();
  for (int i = 0; i < 3; ++i) world.StartWorker(1);
  EXPECT_TRUE(world.Run().status.ok());
  ASSERT_EQ(world.watcher.joined.size(), 3u);
  EXPECT_EQ(world.watcher.joined[0].first, 1u);
  EXPECT_EQ(world.watcher.joined[1].first, 0u);
  EXPECT_EQ(world.watcher.joined[2].first, 2u);
}

TEST(Join, OneWorkerTooManyIsSentHome) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  for (int i = 0; i < 3; ++i) world.StartWorker(-1);
  EXPECT_TRUE(world.Run().status.ok());
  ASSERT_TRUE(world.workers[2]->ended);
  EXPECT_EQ(world.workers[2]->ended->code(), StatusCode::kUnavailable);
  EXPECT_NE(world.workers[2]->ended->ToString().find("all of its 2 workers"), std::string::npos);
}

TEST(Join, AnotherProtocolVersionIsAConflictWithBothVersionsInTheText) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker old(world, 5);
  wire::JoinT join;
  join.protocol = 77;
  join.token = kToken;
  join.incarnation = 5;
  old.Say(std::move(join));
  ASSERT_TRUE(world.RunUntil([&] { return old.leave.has_value(); }));
  ASSERT_EQ(old.errors.size(), 1u);
  EXPECT_EQ(StatusOf(old.errors[0]).code(), StatusCode::kConflict);
  EXPECT_NE(old.errors[0].message.find("77"), std::string::npos);
  const auto refused = Only<notice::JoinRefused>(world.watcher.notices);
  ASSERT_EQ(refused.size(), 1u) << "the server's user hears it";
  EXPECT_EQ(refused[0].why.code(), StatusCode::kConflict);
  EXPECT_FALSE(old.accept);
}

TEST(Join, RefusedJoinsAreToldButDoNotFillTheLog) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  for (Incarnation life = 1; life <= 20; ++life) {
    FakeWorker guesser(world, life);
    guesser.Join(-1, fmt::format("guess {}", life));
    ASSERT_TRUE(world.RunUntil([&] { return guesser.leave.has_value(); }));
  }
  const auto refusals = [&] { return Only<notice::JoinRefused>(world.watcher.notices); };
  ASSERT_EQ(refusals().size(), 1u);
  EXPECT_EQ(refusals()[0].why.code(), StatusCode::kPermission);
  world.loop.RunUntilTime(world.loop.Now() + std::chrono::seconds(11));
  FakeWorker last(world, 100);
  last.Join(-1, "guess");
  ASSERT_TRUE(world.RunUntil([&] { return last.leave.has_value(); }));
  ASSERT_EQ(refusals().size(), 2u);
  EXPECT_EQ(refusals()[1].before, 19u);
}

TEST(Join, WhoSaysNothingIsDisconnectedAfterTenSeconds) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker silent(world, 5);
  ASSERT_TRUE(world.RunUntil([&] { return silent.lost.has_value(); }));
  EXPECT_GE(world.loop.Now(), Time(std::chrono::seconds(10)));
  EXPECT_LE(world.loop.Now(), Time(std::chrono::seconds(11)));
}

TEST(Join, IdleStrangersDoNotKeepTheWorkersOut) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  std::vector<std::unique_ptr<FakeWorker>> idle;
  for (Incarnation i = 0; i < 64; ++i) idle.push_back(std::make_unique<FakeWorker>(world, 100 + i));
  ASSERT_TRUE(world.RunUntil([&] { return idle.back()->connected; }));
  world.StartWorkers();
  ASSERT_TRUE(world.RunUntil([&] { return world.watcher.joined.size() == 2; }));
  ASSERT_TRUE(world.RunUntil([&] { return idle.front()->lost.has_value(); })) << "made room";
  EXPECT_LT(world.loop.Now(), Time(std::chrono::seconds(9))) << "nobody had to time out";
  EXPECT_FALSE(idle.back()->lost);
  EXPECT_TRUE(world.Run().status.ok());
}

TEST(Join, TheStartDoesNotWaitForAWorkerThatWillNotCome) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  world.StartWorker(0);
  ASSERT_TRUE(world.RunUntil([&] { return world.watcher.joined.size() == 1; }));
  world.server->DoNotExpect(1);
  EXPECT_TRUE(world.Run().status.ok());
  EXPECT_LT(world.loop.Now(), Time(std::chrono::seconds(20)));
  EXPECT_THAT(Only<notice::Starting>(world.watcher.scheduler_notices),
              ElementsAre(notice::Starting{1, 2, {1}, /*may_follow=*/false}));
}

// Packets to the address are dropped on the way. TCP alone would try for minutes.
TEST(Join, AServerThatNeverAnswersTheConnectionIsGivenUpAfterTenSeconds) {
  VirtualLoop loop;
  HeldTransport transport;
  auto device = MakeInlineDevice(loop);
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  WorkerOptions options;
  options.server = "203.0.113.1:7440";
  options.incarnation = 5;
  options.wait = std::chrono::seconds(10);
  const auto worker = WorkerNode::Create(Env{loop, transport, **device}, options);
  std::optional<Status> ended;
  worker->Start([&](Status status) { ended = std::move(status); });
  loop.RunUntilTime(Time(std::chrono::seconds(9)));
  EXPECT_FALSE(ended);
  loop.RunUntilTime(Time(std::chrono::seconds(11)));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code(), StatusCode::kUnavailable);
  EXPECT_NE(ended->ToString().find("203.0.113.1:7440"), std::string::npos) << ended->ToString();
}

// The server may have accepted the join before the connection broke. It then refuses that
// incarnation.
TEST(Join, EveryTryIsALifeOfItsOwn) {
  VirtualLoop loop;
  HeldTransport transport;
  auto device = MakeInlineDevice(loop);
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  WorkerOptions options;
  options.server = "server";
  options.incarnation = 5;
  const auto worker = WorkerNode::Create(Env{loop, transport, **device}, options);
  worker->Start([](const Status&) {});
  std::vector<Incarnation> lives;
  for (PeerId peer = 1; peer <= 3; ++peer) {
    loop.RunUntilTime(loop.Now() + std::chrono::seconds(1));
    ASSERT_EQ(transport.connections, peer);
    transport.receiver->OnConnected(peer, {"somewhere:1", "somewhere"});
    const auto join = transport.LetGo();
    const auto control = DecodeControl(join.bytes).value();
    ASSERT_NE(control.body.AsJoin(), nullptr);
    lives.push_back(control.body.AsJoin()->incarnation);
    EXPECT_NE(lives.back(), 0u);
    transport.receiver->OnLost(peer, Status::Unavailable("reset"));
  }
  EXPECT_EQ(lives[0], 5u);
  EXPECT_NE(lives[1], lives[0]);
  EXPECT_NE(lives[2], lives[0]);
  EXPECT_NE(lives[2], lives[1]);
}

TEST(Join, AJobStoppedBeforeItStartsStillFinishes) {
  JobWorld world(JobWorld::Options(1, "none"));
  auto server = ServerNode::Create(Env{world.loop, *world.server_transport, *world.server_device},
                                   world.options, world.source, nullptr);
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  (*server)->Stop("not wanted");
  ASSERT_FALSE(world.RunUntil([] { return false; }));
  int finished = 0;
  (*server)->Start([&](const JobResult& result) {
    ++finished;
    EXPECT_EQ(result.status.code(), StatusCode::kCancelled);
  });
  ASSERT_TRUE(world.RunUntil([&] { return finished > 0; }));
  EXPECT_FALSE(world.RunUntil([] { return false; }));
  EXPECT_EQ(finished, 1);
}

TEST(Join, BulkBeforeTheJoinEndsTheConnectionUnread) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker rude(world, 5);
  Header header;
  header.kind = FrameKind::kGradient;
  header.total = 32;
  rude.Deliver(header, std::make_shared<Bytes>(Bytes(24)), Priority::kBulk);
  ASSERT_TRUE(world.RunUntil([&] { return rude.lost.has_value(); }));
  EXPECT_TRUE(rude.leave);
  EXPECT_TRUE(world.watcher.joined.empty());
}

TEST(Join, AnOversizeFirstMessageIsNotRead) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker large(world, 5);
  large.Join(0, std::string(5000, 'x'));
  ASSERT_TRUE(world.RunUntil([&] { return large.lost.has_value(); }));
  ASSERT_EQ(large.errors.size(), 1u);
  EXPECT_EQ(StatusOf(large.errors[0]).code(), StatusCode::kDataError);
}

TEST(Join, AFirstMessageThatIsNotAJoinIsRefused) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker hasty(world, 5);
  hasty.Introduce();
  ASSERT_TRUE(world.RunUntil([&] { return hasty.lost.has_value(); }));
  EXPECT_FALSE(hasty.accept);
}

TEST(Join, GarbageIsRefused) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker garbled(world, 5);
  garbled.Deliver(Header(), std::make_shared<Bytes>(100, std::byte{0xa5}), Priority::kControl);
  ASSERT_TRUE(world.RunUntil([&] { return garbled.lost.has_value(); }));
  EXPECT_TRUE(world.watcher.joined.empty());
}

TEST(Join, AnIncarnationIsGoodForOneLife) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  auto first = std::make_unique<FakeWorker>(world, 5);
  first->Join();
  ASSERT_TRUE(world.RunUntil([&] { return first->accept.has_value(); }));
  first.reset();
  FakeWorker again(world, 5);
  again.Join();
  ASSERT_TRUE(world.RunUntil([&] { return again.lost.has_value(); }));
  ASSERT_EQ(again.errors.size(), 1u);
  EXPECT_EQ(StatusOf(again.errors[0]).code(), StatusCode::kConflict);
}

TEST(Join, NamesAreCutAndCleaned) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker named(world, 5);
  wire::JoinT join;
  join.protocol = kProtocolVersion;
  join.token = kToken;
  join.incarnation = 5;
  join.name = "a\x1b[2Jb\xFF";
  for (int i = 0; i < 100; ++i) join.name += "\xE2\x82\xAC";
  named.Say(std::move(join));
  ASSERT_TRUE(world.RunUntil([&] { return !world.watcher.joined.empty(); }));
  const std::string& name = world.watcher.joined[0].second;
  EXPECT_EQ(name.find("a[2Jb\xEF\xBF\xBD\xE2\x82\xAC"), 0u) << name;
  EXPECT_EQ(name.size(), 62u) << "cut between characters, within 64 bytes";
}

TEST(Join, WordsOfPeersAreCleaned) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  FakeWorker peer(world, 5);
  peer.Join();
  wire::ErrorT error;
  error.code = static_cast<uint32_t>(StatusCode::kResource);
  error.message = "disk\x1b[2J \xFF full\n";
  peer.Say(error);
  ASSERT_TRUE(world.RunUntil([&] { return !world.watcher.notices.empty(); }));
  const auto reported = Only<notice::Reported>(world.watcher.notices);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_NE(reported[0].what.ToString().find("disk[2J \xEF\xBF\xBD full "), std::string::npos)
      << reported[0].what.ToString();
  FakeWorker other(world, 6);
  other.Join();
  wire::LeaveT leave;
  leave.reason = "\x1b]0;title\x07 I am\xC2 off";
  other.Say(leave);
  ASSERT_TRUE(world.RunUntil([&] { return !world.watcher.lost.empty(); }));
  EXPECT_NE(world.watcher.lost.begin()->second.ToString().find("]0;title I am\xEF\xBF\xBD off"),
            std::string::npos)
      << world.watcher.lost.begin()->second.ToString();
}

TEST(Join, AWorkerWaitsForAServerThatStartsLater) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.server_transport->Close();
  WorkerBox& early = world.StartWorker(0);
  world.loop.RunUntilTime(Time(std::chrono::seconds(3)));
  EXPECT_FALSE(early.ended);
  world.server_transport = world.network.MakeTransport();
  ASSERT_TRUE(world.server_transport->Listen("server").ok());
  world.StartServer();
  EXPECT_TRUE(world.Run().status.ok());
}

TEST(Join, AWorkerWithoutServerGivesUp) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.server_transport->Close();
  world.worker_wait = std::chrono::seconds(30);
  WorkerBox& alone = world.StartWorker(0);
  ASSERT_TRUE(world.RunUntil([&] { return alone.ended.has_value(); }));
  EXPECT_EQ(alone.ended->code(), StatusCode::kUnavailable);
  EXPECT_NE(alone.ended->ToString().find("cannot join the server at server"), std::string::npos);
  EXPECT_GE(world.loop.Now(), Time(std::chrono::seconds(27)));
  EXPECT_LE(world.loop.Now(), Time(std::chrono::seconds(31)));
  ASSERT_EQ(alone.said.size(), 1u);
  EXPECT_NE(alone.said[0].find("trying for at most 30 s"), std::string::npos) << alone.said[0];
}

TEST(Join, AWorkerThatLeavesHandsItsWorkBack) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  world.StartWorker(0);
  WorkerBox& leaver = world.StartWorker(1);
  world.watcher.on_step = [&](StepId step) {
    if (step == 4) leaver.node->Leave();
  };
  EXPECT_TRUE(world.Run().status.ok());
  ASSERT_TRUE(leaver.ended);
  EXPECT_EQ(leaver.ended->code(), StatusCode::kCancelled);
  EXPECT_EQ(world.result->steps, world.options.steps);
  EXPECT_TRUE(world.result->scheduler.workers[1].left);
  EXPECT_FALSE(world.result->scheduler.workers[1].lost);
  EXPECT_THAT(Only<notice::Left>(world.watcher.scheduler_notices), ElementsAre(notice::Left{1, 1}));
}

TEST(Join, AWorkerThatHasNoServerYetLeavesAtOnce) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.server_transport->Close();
  WorkerBox& alone = world.StartWorker(0);
  alone.node->Leave();
  ASSERT_TRUE(world.RunUntil([&] { return alone.ended.has_value(); }));
  EXPECT_EQ(alone.ended->code(), StatusCode::kCancelled);
  EXPECT_LT(world.loop.Now(), Time(std::chrono::seconds(1)));
}

TEST(Join, AJobBeginsWithoutTheOthersAndTakesThemIn) {
  JobOptions options = JobWorld::Options(3, "none");
  options.gather_time = Duration::zero();
  options.name_arrivals = true;
  options.steps = 60;
  JobWorld world(options);
  world.StartServer();
  world.StartWorker(-1, 1, kToken, "first");
  bool second = false;
  world.watcher.on_step = [&](StepId step) {
    if (step == 3 && !std::exchange(second, true)) world.StartWorker(-1, 1, kToken, "second");
  };
  EXPECT_TRUE(world.Run().status.ok());
  const auto joined = Only<notice::Joined>(world.watcher.notices);
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[0].worker, 0u);
  EXPECT_EQ(joined[0].host, "this process");
  EXPECT_THAT(Only<notice::Starting>(world.watcher.scheduler_notices),
              ElementsAre(notice::Starting{1, 3, {1, 2}, /*may_follow=*/true}));
  EXPECT_THAT(Only<notice::Ready>(world.watcher.scheduler_notices), ElementsAre(notice::Ready{1}));
  EXPECT_GT(world.watcher.rows_of[1], 0);
}

TEST(Join, AStandingWorkerServesTheNextJobToo) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.worker_forever = true;
  WorkerBox& standing = world.StartWorker(-1);
  world.StartServer();
  EXPECT_TRUE(world.Run().status.ok());
  world.loop.RunUntilTime(world.loop.Now() + std::chrono::hours(2));
  EXPECT_FALSE(standing.ended);
  world.result.reset();
  world.server.reset();
  world.server_transport = world.network.MakeTransport();
  ASSERT_TRUE(world.server_transport->Listen("server").ok());
  world.options.job_id += 1;
  world.StartServer();
  EXPECT_TRUE(world.Run().status.ok());
  EXPECT_FALSE(standing.ended);
  std::vector<std::string> waits;
  for (const std::string& said : standing.said) {
    if (said.starts_with("waiting for")) waits.push_back(said);
  }
  EXPECT_EQ(waits.size(), 2u) << "one line for each job's end";
}

TEST(Join, AStandingWorkerThatIsRefusedTriesAgainNowAndThen) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.worker_forever = true;
  WorkerBox& standing = world.StartWorker(-1, 1, "another token");
  world.StartServer();
  world.loop.RunUntilTime(world.loop.Now() + std::chrono::minutes(1));
  EXPECT_FALSE(standing.ended);
  ASSERT_EQ(standing.said.size(), 1u);
  EXPECT_NE(standing.said[0].find("the token is not this job's"), std::string::npos);
  EXPECT_NE(standing.said[0].find("trying again"), std::string::npos);
}

}  // namespace
}  // namespace motley
