// SPDX-License-Identifier: Apache-2.0
#include "api/reports/notice_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "api/reports/audit_text.h"

namespace motley {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// Workers 2 and 3 have names.
std::string NameOf(WorkerId worker) { return worker == 2 ? "alice" : worker == 3 ? "bob" : ""; }

std::string Text(const JobNotice& notice) { return NoticeText(notice, NameOf); }

TEST(NoticeText, OfTheStart) {
  EXPECT_EQ(Text(notice::FewReady{1, 2}),
            "1 worker ready; training begins with 2 (`min_workers` sets how many it needs)");
  EXPECT_THAT(Text(notice::BeginsSoon{1, 3, seconds(5)}),
              HasSubstr("1 of at most 3 workers ready; training begins in 5 s"));
  EXPECT_EQ(Text(notice::Starting{2, 3, {2}, /*may_follow=*/false}),
            "starting with 2 of 3 workers; missing: worker 2 (alice)");
  EXPECT_EQ(Text(notice::Starting{1, 3, {1, 2}, /*may_follow=*/true}),
            "starting with 1 worker; 2 more may join while it trains");
  EXPECT_EQ(Text(notice::WaitsAgain{1, /*some_ready=*/false}),
            "1 worker joined, but none is ready yet; waiting once more");
  EXPECT_EQ(Text(notice::WaitsAgain{3, /*some_ready=*/true}),
            "3 workers joined, but not enough are ready yet; waiting once more");
}

TEST(NoticeText, OfWaitingNamesWhoIsAwaited) {
  EXPECT_EQ(
      Text(notice::Waiting{{1, 3}, 0, {2}, seconds(25)}),
      "waiting for workers 1, 3 (bob) to join and worker 2 (alice) to get ready, at most 25 s "
      "more");
  EXPECT_EQ(Text(notice::Waiting{{}, 1, {}, seconds(9)}),
            "waiting for 1 worker more to join, at most 9 s more");
  EXPECT_EQ(Text(notice::Waiting{{}, 0, {}, seconds(9)}),
            "waiting for a worker to come back, at most 9 s more");
}

TEST(NoticeText, OfWorkersThatComeAndGo) {
  EXPECT_EQ(Text(notice::Ready{2}),
            "worker 2 (alice) is ready; it gets a share from the next step at the latest");
  EXPECT_EQ(Text(notice::StartedAgain{1}), "worker 1 started again; what it was doing is lost");
  EXPECT_EQ(Text(notice::Left{2, 1}), "worker 2 (alice) leaves; 1 worker goes on");
  EXPECT_EQ(Text(notice::Left{2, 0}), "worker 2 (alice) leaves; no worker is left");
  EXPECT_EQ(Text(notice::Lost{2, Status::Unavailable("connection reset"), 3}),
            "worker 2 (alice) lost: connection reset; 3 workers go on");
  EXPECT_EQ(Text(notice::AllGone{3, Status::Unavailable("connection reset"), seconds(600)}),
            "all workers are gone (the last, worker 3 (bob): connection reset). Waiting 600 s for "
            "one to come back; stopping the job keeps what is done");
  EXPECT_EQ(Text(notice::Silent{3, milliseconds(600)}),
            "worker 3 (bob) is late by 0.6 s; its share goes to others until it answers");
  EXPECT_EQ(Text(notice::AnswersAgain{3}),
            "worker 3 (bob) answers again; it gets a share from the next step");
  EXPECT_EQ(Text(notice::Rests{3, milliseconds(1500)}),
            "worker 3 (bob) failed again to deliver its work; it gets none for 1.5 s");
}

TEST(NoticeText, OfWhatHappensInAStep) {
  EXPECT_EQ(Text(notice::AllSilent{12, seconds(5)}),
            "no worker has answered for 5 s; waiting (step 12)");
  EXPECT_EQ(Text(notice::LongStep{12, seconds(8), 20, {0, 2}}),
            "step 12 has taken 8.0 s, 20 times as long as usual; waiting for workers 0, 2 (alice)");
  EXPECT_EQ(Text(notice::LongStep{12, seconds(8), 0, {}}), "step 12 has taken 8.0 s");
  const Status why = Status::DataError("not finite");
  EXPECT_EQ(Text(notice::Refused{9, 1, why}),
            "step 9: the answer of worker 1 was refused: not finite");
  EXPECT_EQ(
      Text(notice::SentAway{1, 3, why, 2}),
      "worker 1 sent away: 3 of its answers could not be used, the last: not finite; 2 workers "
      "go on");
  EXPECT_EQ(Text(notice::SendsInTurn{6, 8, milliseconds(215)}),
            "an answer takes the server's link for 215 ms: the first 6 of 8 that decode are sent, "
            "and the others are held");
  EXPECT_THAT(Text(notice::NotDecodable{4}), HasSubstr("step 4: all answers arrived"));
}

TEST(NoticeText, OfPlansThatGiveLessThanWasAsked) {
  EXPECT_EQ(Text(notice::ToleratesFewer{2, "rs", 1, 2}),
            "with 2 workers left in the plan, code rs tolerates 1 missing instead of 2");
  EXPECT_EQ(Text(notice::FewerParts{3, 2, 3}),
            "with 3 workers left in the plan, answers are 1/2 of a gradient instead of 1/3");
  EXPECT_EQ(Text(notice::OtherCode{"none", true, 0, "no code x"}),
            "planned with code none, equal loads, 0 missing tolerated, because: no code x");
  EXPECT_EQ(Text(notice::FewerCopies{1, 2}),
            "with 1 worker left, there is one copy of each partition instead of 2");
  EXPECT_EQ(Text(notice::FewerCopies{2, 3}),
            "with 2 workers left, there are 2 copies of each partition instead of 3");
}

TEST(NoticeText, OfConnections) {
  const Status why = Status::Permission("wrong token");
  EXPECT_EQ(Text(notice::Joined{2, "10.77.0.3", "NVIDIA A2"}),
            "worker 2 (alice) joined from 10.77.0.3 with NVIDIA A2");
  EXPECT_EQ(Text(notice::JoinRefused{"mallory", "10.77.0.9", why, 0}),
            "refused mallory at 10.77.0.9: wrong token");
  EXPECT_EQ(Text(notice::JoinRefused{"", "10.77.0.9", why, 19}),
            "refused a worker at 10.77.0.9: wrong token (19 more before it)");
  EXPECT_EQ(Text(notice::JoinRefused{"", "", why, 0}), "refused a peer: wrong token");
  EXPECT_EQ(Text(notice::NotReady{1, seconds(60)}),
            "worker 1 joined 60 s ago and is not ready for work; not waiting for it");
  EXPECT_THAT(Text(notice::Quiet{2, seconds(3)}),
              HasSubstr("worker 2 (alice) has said nothing for 3 s: "));
  EXPECT_EQ(Text(notice::Back{2, seconds(7)}), "worker 2 (alice) is back after 7 s");
  EXPECT_EQ(Text(notice::Reported{1, Status::Resource("no memory"), 0}),
            "worker 1 reports: no memory");
  EXPECT_EQ(Text(notice::Reported{1, Status::Resource("no memory"), 12}),
            "worker 1 reports: no memory (12 more before it were left out)");
  EXPECT_EQ(Text(notice::ShardsMoved{1, {{0, 2}}}),
            "1 part of the vector, which worker 1 held, is now held by worker 2 (alice)");
  EXPECT_EQ(Text(notice::ShardsMoved{1, {{0, 2}, {3, 2}, {4, 4}}}),
            "3 parts of the vector, which worker 1 held, are now held by workers 2 (alice), 4");
  using Why = notice::ShardsMoved::Why;
  EXPECT_EQ(Text(notice::ShardsMoved{1, {{0, 2}}, Why::kLate}),
            "1 part of the vector, which worker 1 held, is now held by worker 2 (alice), because "
            "it did not answer in time");
  EXPECT_EQ(Text(notice::ShardsMoved{1, {{0, 2}}, Why::kSlow}),
            "1 part of the vector, which worker 1 held, is now held by worker 2 (alice), because "
            "it held up one update after the other");
  EXPECT_EQ(Text(notice::ShardsGained{2, 3}),
            "worker 2 (alice) got 3 parts of the vector, so that all links share the work");
  EXPECT_EQ(Text(notice::Trouble{Status::Resource("out of descriptors")}), "out of descriptors");
}

TEST(NoticeText, OfWhoSumsTheVector) {
  notice::VectorPlaced placed;
  placed.nodes = {1, 2};
  placed.bytes = 92e6;
  placed.choice.kind = Reduce::kDirect;
  placed.choice.ranges = {{0, 0, 30}, {1, 30, 40}};
  placed.choice.cost.exchange.total = 0.5;
  EXPECT_EQ(Text(placed),
            "the workers sum the vector of 92 MB (worker 1 75 %, worker 2 (alice) 25 %). With the "
            "links that were measured it moves in 500 ms of a step");
  placed.choice.reason.kind = ReduceReason::Kind::kFaster;
  placed.choice.reason.star.exchange.total = 1.5;
  EXPECT_THAT(Text(placed), ::testing::EndsWith(", and the server alone would need 1500 ms"));
  placed.choice.kind = Reduce::kStar;
  placed.choice.reason.other.exchange.total = 1.6;
  EXPECT_EQ(Text(placed),
            "the server sums the vector of 92 MB: with the links that were measured it moves in "
            "1500 ms of a step, and workers that share this work would need 1600 ms");
  placed.unreached = {1, 2};
  EXPECT_EQ(Text(placed),
            "the server sums the vector of 92 MB, because worker 1 could not connect to "
            "worker 2 (alice) while links were measured. Otherwise the workers could share that "
            "work");
}

TEST(NoticeText, OfAVectorThatStaysWithTheServer) {
  using Why = notice::StarKept::Why;
  EXPECT_EQ(
      Text(notice::StarKept{Why::kShort, 20480}),
      "the server sums the vector of 20.5 kB: for so short a vector, the cost of more messages "
      "is larger than what is saved in bytes");
  EXPECT_EQ(
      Text(notice::StarKept{Why::kHere, 92e6}),
      "the server sums the vector of 92 MB: all workers are on its own machine, where no link "
      "limits it");
  EXPECT_TRUE(IsDetail(notice::StarKept{Why::kHere, 92e6})) << "it is so in every small run";
  EXPECT_FALSE(IsDetail(notice::StarKept{Why::kShort, 20480}));
}

TEST(NoticeText, OfShardServers) {
  const NameOfWorker names = [](WorkerId node) -> std::string {
    return node < 2 ? "" : node == 2 ? "shard server 0" : "shard server 1 (rack)";
  };
  const auto text = [&](const JobNotice& notice) { return NoticeText(notice, names); };
  EXPECT_EQ(
      text(notice::AwaitsShardServers{1, 2, seconds(600)}),
      "1 of 2 shard servers joined; waiting for the others, at most 600 s more (motley server "
      "--shard starts one)");
  EXPECT_EQ(text(notice::ShardServerJoined{3, "shard server 1 (rack)", "10.77.0.3"}),
            "shard server 1 (rack) joined from 10.77.0.3");
  EXPECT_EQ(text(notice::ShardServerLost{3, Status::Unavailable("reset")}),
            "shard server 1 (rack) lost: reset");
  EXPECT_EQ(text(notice::ShardServerLost{3, Status::Cancelled("it left")}),
            "shard server 1 (rack) left");
  EXPECT_EQ(text(notice::ShardsMoved{3, {{0, 2}, {1, 1}}}),
            "2 parts of the vector, which shard server 1 (rack) held, are now held by worker 1 and "
            "shard server 0");
  notice::VectorPlaced placed;
  placed.nodes = {0, 1, 2, 3};
  placed.bytes = 92e6;
  placed.choice.kind = Reduce::kSharded;
  placed.choice.ranges = {{2, 0, 30}, {3, 30, 40}};
  placed.choice.cost.exchange.total = 0.5;
  EXPECT_THAT(
      text(placed),
      HasSubstr("the shard servers sum the vector of 92 MB (shard server 0 75 %, shard server "
                "1 (rack) 25 %). With"));
  placed.choice.kind = Reduce::kDirect;
  placed.choice.ranges = {{0, 0, 10}, {1, 10, 20}, {2, 20, 40}};
  EXPECT_THAT(text(placed),
              HasSubstr("the workers and shard servers sum the vector of 92 MB (worker "
                        "0 25 %, worker 1 25 %, shard server 0 50 %, shard"));
}

// Losses of standardised targets mean nothing to the user: they are reported in the units of the
// data.
TEST(NoticeText, OfTrainingThatDiverges) {
  EXPECT_THAT(NoticeText(notice::Diverges{6, 700, 0.5, 100}, NameOf, 1e4),
              HasSubstr("step 6: the loss is 7e+06, more than 100 times the 5e+03 of the first"));
  EXPECT_THAT(Text(notice::Diverges{6, 1e10, 2, 100}), HasSubstr("`learning_rate`"));
  EXPECT_THAT(Text(notice::Diverges{2, std::nullopt, 2, 100}),
              HasSubstr("step 2: the loss is not a number any more"));
}

TEST(NoticeText, OfCheckpoints) {
  using Next = notice::CheckpointFailed::Next;
  const Status full = Status::Resource("the disk is full");
  EXPECT_THAT(Text(notice::CheckpointSkipped{20}),
              HasSubstr("the checkpoint of step 20 is left out"));
  EXPECT_EQ(Text(notice::CheckpointFailed{10, full, Next::kLater, 0}),
            "the checkpoint of step 10 was not written: the disk is full. Training goes on, the "
            "next is tried in its turn; no checkpoint is safe");
  EXPECT_THAT(Text(notice::CheckpointFailed{10, full, Next::kLast, 5}),
              HasSubstr("The last is tried next; the newest safe checkpoint has 5 steps"));
  EXPECT_THAT(Text(notice::CheckpointFailed{10, full, Next::kNone, 1}),
              HasSubstr("The job ends without it; the newest safe checkpoint has 1 step"));
  EXPECT_EQ(Text(notice::CheckpointsAgain{30}),
            "checkpoints can be written again: that of step 30 is safe");
  const notice::CheckpointDegraded degraded{10, 0, {{"disk:/node-01", full}}};
  EXPECT_EQ(DegradedText(degraded),
            "the checkpoint of step 10 is degraded, it survives no more losses; left out: "
            "disk:/node-01 (the disk is full)");
  EXPECT_THAT(Text(degraded), HasSubstr(DegradedText(degraded) + ". Stronger ones"));
  EXPECT_THAT(Text(notice::CheckpointsWhole{30}), HasSubstr("whole again: that of step 30"));
  EXPECT_THAT(Text(notice::CheckpointUnlocked{"disk:/"}), HasSubstr("disk:/ locks no folders"));
  EXPECT_THAT(Text(notice::CheckpointSlow{15, seconds(90), 10}),
              HasSubstr("step 15 is still being written, 90 s"));
  EXPECT_EQ(Text(notice::CheckpointNote{"moved aside"}), "checkpoint: moved aside");
}

TEST(AuditText, NamesThePartAndWhoSentIt) {
  AuditWarning warning{
      .step = 3, .worker = 1, .name = "box", .difference = 1.5, .sent_away = true, .off = "loss"};
  EXPECT_EQ(AuditText(warning),
            "audit of step 3: the loss that worker 1 (box) sent differs by about 150 % from the "
            "server's own, and others agree with that: it is sent away. Updates since it joined "
            "may be wrong");
  warning.sent_away = false;
  EXPECT_THAT(AuditText(warning), HasSubstr("agree with that. Updates since"));
  warning.kind = AuditWarning::Kind::kUnclear;
  warning.suspect = {2, "", 0.1, 1};
  EXPECT_THAT(AuditText(warning),
              HasSubstr("worker 2 (and 1 others) sent differs by about 10 % from the server's own, "
                        "and no other answer is there to say who is right"));
  EXPECT_THAT(AuditText({.difference = 0.5, .kind = AuditWarning::Kind::kSum}),
              HasSubstr("what was decoded differs by about 50 %"));
  warning.kind = AuditWarning::Kind::kBetween;
  warning.suspect = {2, "", 0.1, 0};
  warning.at = 0;
  EXPECT_THAT(AuditText(warning), HasSubstr("worker 2 sent differs by about 10 %"));
  EXPECT_THAT(AuditText(warning), HasSubstr("in the part of the vector that worker 0 (box) sums"));
  EXPECT_THAT(AuditText({.worker = 3,
                         .name = "shard server 1 (alice)",
                         .difference = 0.5,
                         .kind = AuditWarning::Kind::kSumOf}),
              HasSubstr("that shard server 1 (alice) formed differs"));
  EXPECT_THAT(
      AuditText(
          {.worker = 1, .difference = 0.5, .sent_away = true, .kind = AuditWarning::Kind::kSumOf}),
      HasSubstr("the part of the sum that worker 1 formed differs by about 50 % from the "
                "server's own, although the answers are right: it is sent away"));
}

TEST(ReasonText, SaysWhatWasPredictedAndAgainstWhat) {
  EXPECT_EQ(ReasonText({}), "copies would save nothing worth their price");
  EXPECT_EQ(ReasonText({.kind = ChoiceReason::Kind::kTooShort, .took = 0.00035}),
            "0.35 ms a step, too short for copies to gain");
  EXPECT_EQ(ReasonText({.predicted = 0.041}),
            "predicted 41 ms a step; copies would save nothing worth their price");
  const ChoiceReason copies{.before = "none",
                            .took = 0.05,
                            .predicted = 0.041,
                            .copies = true,
                            .than_plain = -0.23,
                            .feared = ChoiceReason::Feared{3, 0.04}};
  EXPECT_EQ(ReasonText(copies),
            "none took 50 ms a step; predicted 41 ms a step, 23 % less than without copies; "
            "insures against worker 3, slow in 4 % of its steps");
  EXPECT_EQ(ReasonText({.predicted = 0.002, .copies = true, .than_plain = 0.01}),
            "predicted 2.0 ms a step, as much as without copies; insures against stragglers and "
            "losses");
}

TEST(WorkersText, ListsFewWithTheirNamesAndSummarisesMany) {
  std::vector<WorkerId> workers;
  EXPECT_EQ(WorkersText({4}, NameOf), "worker 4");
  EXPECT_EQ(WorkersText({0, 3, 7}, NameOf), "workers 0, 3 (bob), 7");
  for (WorkerId w = 10; w < 42; ++w) workers.push_back(w);
  EXPECT_THAT(WorkersText(workers, NameOf), HasSubstr("workers 10, 11, 12"));
  workers.push_back(50);
  EXPECT_EQ(WorkersText(workers, NameOf), "33 workers (10 to 41, 50)");
  workers.clear();
  for (WorkerId w = 0; w < 100; ++w) workers.push_back(2 * w);
  EXPECT_EQ(WorkersText(workers, NameOf), "100 workers (0, 2, 4, 6, 8, 10, 12, 14 and 92 more)");
}

}  // namespace
}  // namespace motley
