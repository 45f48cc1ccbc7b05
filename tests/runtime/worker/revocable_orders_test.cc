// SPDX-License-Identifier: Apache-2.0
// Lists of partitions that grow and shrink while a worker computes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/runtime/worker/executor_rig.h"

namespace motley {
namespace {

constexpr uint32_t kPartitions = 20;  // Each has 20 samples, ten of them in a batch.
constexpr uint32_t kFirst = 5;

class RevocableOrders : public ExecutorRig {
 protected:
  explicit RevocableOrders(bool is_far = false) : ExecutorRig(kPartitions, is_far) {}

  void GiveAll() {
    for (PartitionId p = 0; p < kPartitions; ++p) GivePartition(p);
    GiveParameters(0);
  }
  Status Extend(std::vector<uint32_t> some, StepId step = 0, uint32_t list = kFirst) {
    wire::OrderT order;
    order.partitions = std::move(some);
    MOTLEY_ASSIGN_OR_RETURN(auto terms, TermsOf(order, kPartitions));
    return executor->Take({.step = step,
                           .version = step,
                           .order = list,
                           .terms = std::move(terms),
                           .revocable = true,
                           .cover_known = false});
  }
  Status Revoke(std::vector<uint32_t> some, uint32_t list = kFirst) {
    wire::RevokeT revoke;
    revoke.order = list;
    revoke.partitions = std::move(some);
    return executor->Revoke(revoke);
  }
  void Flush(uint32_t list = kFirst) {
    wire::FlushT flush;
    flush.order = list;
    executor->Flush(flush);
  }
  void RunFor(Duration duration) { loop.RunUntilTime(loop.Now() + duration); }
  // The vectors in the transport, assembled.
  std::vector<std::vector<float>> Vectors() const {
    std::vector<std::vector<float>> vectors;
    for (const auto& [id, message] : transport.held) {
      if (message.header.kind != FrameKind::kGradient) continue;
      if (message.header.offset == 0) vectors.emplace_back();
      const size_t count = message.bytes.size() / sizeof(float);
      std::vector<float> values(count);
      std::memcpy(values.data(), message.bytes.data(), message.bytes.size());
      vectors.back().insert(vectors.back().end(), values.begin(), values.end());
    }
    return vectors;
  }
  // The tallies that their slices declare.
  std::vector<Tally> Tallies() const {
    std::vector<Tally> tallies;
    for (const auto& [id, message] : transport.held) {
      if (message.header.kind != FrameKind::kGradient) continue;
      if (message.header.offset == 0) tallies.push_back(message.header.tally);
      EXPECT_EQ(message.header.tally, tallies.back());
    }
    return tallies;
  }
  // The sum of these terms, computed by the trainer in one call.
  std::vector<float> Direct(const std::vector<PartitionTerm>& terms) {
    const std::vector<float> zeros(shop->model->parameter_count());
    std::vector<float> sum(VectorLength(zeros.size()));
    GradientWork work;
    work.parameters = zeros;
    work.terms = terms;
    work.sum = sum;
    bool done = false;
    shop->trainer->Accumulate(
        std::move(work), nullptr,
        [&](const Result<Trainer::Outcome>& outcome) { done = outcome.ok(); });
    Run();
    EXPECT_TRUE(done);
    return sum;
  }
  static void ExpectNear(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4) << i;
  }
};

TEST_F(RevocableOrders, SendsNothingUntilItIsToldTo) {
  GiveAll();
  ASSERT_TRUE(Extend({4, 5, 9, 0}).ok());
  Run();
  EXPECT_TRUE(Vectors().empty());
  Flush();
  ASSERT_EQ(Vectors().size(), 1u);
  ASSERT_EQ(Said<wire::AnswerEndT>().size(), 1u);
  EXPECT_EQ(Said<wire::AnswerEndT>()[0].entries, 4u);
  EXPECT_EQ(transport.held.rbegin()->second.header.kind, FrameKind::kControl)
      << "behind its slices";
  EXPECT_EQ(transport.held.rbegin()->second.header.row_id, 0u);
  const std::vector<float> sent = Vectors()[0];
  ExpectNear(sent, Direct({{0, 1, 1.0}, {4, 6, 1.0}, {9, 10, 1.0}}));
}

TEST_F(RevocableOrders, WaitsForParametersAndForThePartitionsOfTheNextChunk) {
  ASSERT_TRUE(Extend({3, 4}).ok());
  GivePartition(3);
  Run();
  EXPECT_TRUE(Said<wire::ProgressT>().empty());
  GiveParameters(0);
  Run();
  ASSERT_EQ(Said<wire::ProgressT>().size(), 1u);
  EXPECT_EQ(Said<wire::ProgressT>()[0].entries, 1u);
  Flush();
  EXPECT_TRUE(Vectors().empty());
  GivePartition(4);
  Run();
  EXPECT_EQ(Vectors().size(), 1u);
}

TEST_F(RevocableOrders, GivesBackWhatItHasNotStarted) {
  GiveAll();
  ASSERT_TRUE(Extend({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).ok());
  RunFor(kSampleTime * 50);  // The first chunk has four partitions, so the second is on the device.
  ASSERT_TRUE(Revoke({0, 5, 9, 8, 15}).ok());
  ASSERT_EQ(Said<wire::ReleasedT>().size(), 1u);
  EXPECT_EQ(Said<wire::ReleasedT>()[0].partitions, (std::vector<uint32_t>{8, 9}));
  ASSERT_TRUE(Revoke({}).ok());
  EXPECT_EQ(Said<wire::ReleasedT>().size(), 2u) << "an empty one is answered, too";
  Flush();
  Run();
  ASSERT_EQ(Vectors().size(), 1u);
  EXPECT_EQ(Said<wire::AnswerEndT>()[0].entries, 8u);
  const std::vector<float> sent = Vectors()[0];
  ExpectNear(sent, Direct({{0, 8, 1.0}}));
}

TEST_F(RevocableOrders, AFlushIsVoidWhenTheListGrowsBefore) {
  GiveAll();
  ASSERT_TRUE(Extend({0, 1, 2, 3}).ok());
  Flush();
  ASSERT_TRUE(Extend({4}).ok());
  Run();
  EXPECT_TRUE(Vectors().empty());
  Flush();
  EXPECT_EQ(Vectors().size(), 1u);
}

TEST_F(RevocableOrders, TheLastOfTheListGivenBackEndsIt) {
  GiveAll();
  ASSERT_TRUE(Extend({0, 1, 2, 3, 4}).ok());
  RunFor(kSampleTime * 20);
  Flush();
  ASSERT_TRUE(Revoke({4}).ok());
  Run();
  ASSERT_EQ(Said<wire::AnswerEndT>().size(), 1u);
  EXPECT_EQ(Said<wire::AnswerEndT>()[0].entries, 4u);
}

TEST_F(RevocableOrders, WhatComesAfterAVectorIsTheNextOnes) {
  GiveAll();
  ASSERT_TRUE(Extend({0, 1, 2, 3}).ok());
  Flush();
  Run();
  ASSERT_EQ(Vectors().size(), 1u);
  EXPECT_EQ(Said<wire::AnswerEndT>()[0].entries, 4u);
  ASSERT_TRUE(Extend({4, 5, 6, 7, 8, 9}).ok());
  Flush();
  EXPECT_EQ(Vectors().size(), 1u) << "a chunk is on the device";
  Run();
  ASSERT_EQ(Vectors().size(), 2u);
  EXPECT_EQ(Said<wire::AnswerEndT>()[1].entries, 6u);
  const auto sent = Vectors();
  ExpectNear(sent[0], Direct({{0, 4, 1.0}}));
  ExpectNear(sent[1], Direct({{4, 10, 1.0}}));
  EXPECT_EQ(Tallies()[0].weight, 40.0) << "ten samples of each partition";
  EXPECT_EQ(Tallies()[1].weight, 60.0);
  EXPECT_NEAR(Tallies()[0].loss.real() / 40, Tallies()[1].loss.real() / 60, 1)
      << "of these samples alone";
  Flush();
  EXPECT_EQ(Vectors().size(), 2u) << "nothing is left";
}

// A trainer that divides its work itself, and is faster than the loop's time shows.
class DividesItself final : public Trainer {
 public:
  DividesItself(std::unique_ptr<Trainer> inner, double faster)
      : inner_(std::move(inner)), faster_(faster) {}
  size_t parameter_count() const override { return inner_->parameter_count(); }
  bool cuts_work() const override { return true; }
  uint64_t Samples(StepId step, std::span<const PartitionTerm> terms) const override {
    return inner_->Samples(step, terms);
  }
  void Calibrate(std::shared_ptr<const std::atomic<bool>> cancel,
                 std::function<void(Result<double>)> done) override {
    inner_->Calibrate(std::move(cancel), std::move(done));
  }
  void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel,
                  Done done) override {
    auto kept = std::make_shared<Done>(std::move(done));
    inner_->Accumulate(std::move(work), std::move(cancel), [this, kept](Result<Outcome> outcome) {
      if (outcome.ok()) {
        outcome->compute = FromSeconds(ToSeconds(outcome->compute) / faster_);
        pieces.push_back(outcome->samples);
      }
      (*kept)(std::move(outcome));
    });
  }
  std::vector<uint64_t> pieces;

 private:
  const std::unique_ptr<Trainer> inner_;
  const double faster_;
};

class DividedOrders : public RevocableOrders {
 protected:
  std::vector<uint64_t> PiecesOfTwoLists(double faster) {
    auto made = std::make_unique<DividesItself>(std::move(shop->trainer), faster);
    const DividesItself& trainer = *made;
    shop->trainer = std::move(made);
    GiveAll();
    std::vector<uint32_t> all(kPartitions);
    std::iota(all.begin(), all.end(), 0);
    for (uint32_t list = 1; list <= 2; ++list) {
      EXPECT_TRUE(Extend(all, 0, list).ok());
      Run();
    }
    return trainer.pieces;
  }
};

TEST_F(DividedOrders, ArePiecesThatLastLongEnough) {
  // 200 ms of work: the least piece has 64 samples, and partitions have ten.
  EXPECT_THAT(PiecesOfTwoLists(1), testing::ElementsAre(70, 70, 60, 70, 70, 60));
}

TEST_F(DividedOrders, AreOnePieceIfTheyAreShort) {
  EXPECT_THAT(PiecesOfTwoLists(100), testing::ElementsAre(70, 130, 200));
}

TEST_F(RevocableOrders, TellsHowFarItIsAndWhatItTook) {
  GiveAll();
  ASSERT_TRUE(Extend({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).ok());
  Run();
  const auto told = Said<wire::ProgressT>();
  ASSERT_FALSE(told.empty());
  uint32_t before = 0;
  for (const wire::ProgressT& progress : told) {
    EXPECT_GE(progress.entries, before);
    before = progress.entries;
    EXPECT_NEAR(progress.compute_ns * 1e-9, progress.entries * 0.01, 1e-3);
  }
  EXPECT_EQ(before, 10u);
}

TEST_F(RevocableOrders, CancelStopsComputingTakesSlicesBackAndIsAnswered) {
  GiveAll();
  ASSERT_TRUE(Extend({0, 1, 2, 3}).ok());
  Flush();
  Run();
  ASSERT_EQ(Vectors().size(), 1u);
  ASSERT_TRUE(Extend({4, 5, 6, 7}).ok());
  RunFor(kSampleTime * 5);
  const Time before = loop.Now();
  executor->Cancel(0, 0);
  EXPECT_TRUE(Vectors().empty());
  const auto told = Said<wire::ProgressT>();
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told.back().order, 0u) << "about none, but a sign of life";
  Run();
  EXPECT_LT(loop.Now() - before, kSampleTime * 40);
  EXPECT_EQ(Said<wire::ProgressT>().size(), told.size());
  EXPECT_EQ(told[told.size() - 2].entries, 4u);
  Flush();
  EXPECT_TRUE(Vectors().empty());
}

TEST_F(RevocableOrders, ANewListSupersedesTheOldOneAlsoOfTheSameStep) {
  GiveAll();
  ASSERT_TRUE(Extend({0, 1, 2, 3, 4, 5, 6, 7}).ok());
  RunFor(kSampleTime * 10);
  ASSERT_TRUE(Extend({1}, 0, kFirst + 1).ok());
  Flush();  // This Flush is for the old order.
  ASSERT_TRUE(Revoke({2, 1}).ok());
  Run();
  EXPECT_TRUE(Vectors().empty());
  EXPECT_TRUE(Said<wire::ReleasedT>().empty());
  Flush(kFirst + 1);
  ASSERT_EQ(Vectors().size(), 1u);
  const std::vector<float> sent = Vectors()[0];
  ExpectNear(sent, Direct({{1, 2, 1.0}}));
}

TEST_F(RevocableOrders, HoldsTwoVectorsAndWaitsForOneToLeave) {
  GiveAll();
  for (uint32_t p = 0; p < 3; ++p) {
    ASSERT_TRUE(Extend({p}).ok());
    Flush();
    Run();
  }
  EXPECT_EQ(Vectors().size(), 2u);
  for (int slice = 0; slice < 3; ++slice) transport.LetGo(FrameKind::kGradient);
  Run();
  EXPECT_EQ(Said<wire::AnswerEndT>().size(), 3u);
}

// Such a list needs no Flush, and ends as a row does.
TEST_F(RevocableOrders, AListThatCannotBeTakenBackIsSentWhenItIsDone) {
  GiveAll();
  ASSERT_TRUE(
      executor
          ->Take(
              {.order = kFirst, .terms = {{4, 6, 1.0, {}}, {0, 1, 1.0, {}}}, .cover_known = false})
          .ok());
  ASSERT_TRUE(Revoke({0}).ok());
  Run();
  EXPECT_TRUE(Said<wire::ReleasedT>().empty());
  ASSERT_EQ(Vectors().size(), 1u);
  ASSERT_EQ(Said<wire::AnswerEndT>().size(), 1u);
  EXPECT_EQ(Said<wire::AnswerEndT>()[0].entries, 3u);
  EXPECT_TRUE(Said<wire::AnswerEndT>()[0].finished);
  const std::vector<float> sent = Vectors()[0];
  ExpectNear(sent, Direct({{0, 1, 1.0}, {4, 6, 1.0}}));
}

TEST_F(RevocableOrders, RefusesPartitionsThatCannotBe) {
  EXPECT_EQ(Extend({0, kPartitions}).code(), StatusCode::kDataError);
  EXPECT_EQ(Extend({1, 1}).code(), StatusCode::kDataError);
  std::vector<uint32_t> all;
  for (uint32_t p = 0; p < kPartitions; ++p) all.push_back(p);
  EXPECT_TRUE(Extend(all).ok());
  EXPECT_EQ(Extend({0}).code(), StatusCode::kDataError) << "more than there are";
  EXPECT_EQ(Revoke({kPartitions}).code(), StatusCode::kDataError);
}

TEST_F(RevocableOrders, ARowOrAnotherVersionDoesNotContinueAList) {
  EXPECT_TRUE(Extend({0}).ok());
  const std::vector<PartitionTerm> terms = {{.begin = 1, .end = 2, .coefficient = 2}};
  EXPECT_EQ(executor->Take({.order = kFirst, .terms = terms, .revocable = false}).code(),
            StatusCode::kDataError);
  EXPECT_EQ(executor
                ->Take({.version = 1,
                        .order = kFirst,
                        .terms = terms,
                        .revocable = true,
                        .cover_known = false})
                .code(),
            StatusCode::kDataError);
}

TEST_F(RevocableOrders, OnceStoppedItSaysNothing) {
  GiveAll();
  ASSERT_TRUE(Extend({0, 1, 2, 3, 4, 5}).ok());
  RunFor(kSampleTime * 10);
  executor->Stop();
  const size_t sent = transport.sent.size();
  Flush();
  EXPECT_TRUE(Revoke({5}).ok());
  EXPECT_TRUE(Extend({7}).ok());
  Run();
  EXPECT_EQ(transport.sent.size(), sent);
  EXPECT_FALSE(failed);
}

class FarRevocableOrders : public RevocableOrders {
 protected:
  FarRevocableOrders() : RevocableOrders(/*is_far=*/true) {}

  // Losses are always copied out; sums only when necessary.
  size_t SumsOut() { return std::exchange(far.copied_out, 0) / gradient_bytes(); }
  size_t gradient_bytes() const { return shop->model->parameter_count() * sizeof(float); }
};

TEST_F(FarRevocableOrders, TheSumStaysOnTheDeviceUntilItsVectorLeaves) {
  GiveAll();
  std::vector<uint32_t> all(kPartitions);
  std::iota(all.begin(), all.end(), 0);
  ASSERT_TRUE(Extend(all).ok());
  Run();
  EXPECT_GT(Said<wire::ProgressT>().size(), 2u) << "chunks";
  EXPECT_EQ(SumsOut(), 0u);
  Flush();
  EXPECT_TRUE(Vectors().empty()) << "it is fetched first";
  Run();
  ASSERT_EQ(Vectors().size(), 1u);
  EXPECT_EQ(Tallies()[0].weight, 200.0);
  const std::vector<float> sent = Vectors()[0];
  ExpectNear(sent, Direct({{0, kPartitions, 1.0}}));
}

TEST_F(FarRevocableOrders, WhatIsAddedAfterASumWasFetchedCountsOnce) {
  GiveAll();
  ASSERT_TRUE(Extend({0, 1, 2, 3, 4, 5}).ok());
  Run();
  Flush();
  ASSERT_TRUE(Extend({6}).ok());  // The Flush is void, although the sum is copied out.
  Run();
  EXPECT_TRUE(Vectors().empty());
  ASSERT_TRUE(Extend({7, 8}).ok());
  Flush();
  Run();
  ASSERT_EQ(Vectors().size(), 1u);
  EXPECT_EQ(Said<wire::AnswerEndT>()[0].entries, 9u);
  EXPECT_EQ(Tallies()[0].weight, 90.0);
  ASSERT_TRUE(Extend({9, 10}).ok());
  Flush();
  Run();
  const auto sent = Vectors();
  ASSERT_EQ(sent.size(), 2u);
  ExpectNear(sent[0], Direct({{0, 9, 1.0}}));
  ExpectNear(sent[1], Direct({{9, 11, 1.0}}));
}

// Partition 7 is not here, so no chunk takes it before it is given back.
TEST_F(FarRevocableOrders, ASumThatWasFetchedLeavesWhenTheRestIsGivenBack) {
  for (PartitionId p = 0; p < 7; ++p) GivePartition(p);
  GiveParameters(0);
  ASSERT_TRUE(Extend({0, 1, 2, 3, 4, 5}).ok());
  Run();
  Flush();
  ASSERT_TRUE(Extend({6, 7}).ok());  // The Flush is void, although the sum is copied out.
  Run();
  Flush();
  Run();
  EXPECT_TRUE(Vectors().empty());
  ASSERT_TRUE(Revoke({7}).ok());
  Run();
  ASSERT_EQ(Said<wire::ReleasedT>().size(), 1u);
  EXPECT_EQ(Said<wire::ReleasedT>()[0].partitions, std::vector<uint32_t>{7});
  ASSERT_EQ(Vectors().size(), 1u);
  EXPECT_EQ(Said<wire::AnswerEndT>()[0].entries, 7u);
  EXPECT_EQ(Tallies()[0].weight, 70.0);
  const std::vector<float> sent = Vectors()[0];
  ExpectNear(sent, Direct({{0, 7, 1.0}}));
}

TEST_F(FarRevocableOrders, ASumThatIsNotNeededLeavesNothingBehind) {
  GiveAll();
  ASSERT_TRUE(Extend({0, 1, 2, 3, 4, 5, 6, 7}).ok());
  RunFor(kSampleTime * 50);
  ASSERT_TRUE(Extend({1, 2}, 0, kFirst + 1).ok());
  Flush(kFirst + 1);
  Run();
  ASSERT_EQ(Vectors().size(), 1u);
  EXPECT_EQ(Tallies()[0].weight, 20.0);
  const std::vector<float> sent = Vectors()[0];
  ExpectNear(sent, Direct({{1, 3, 1.0}}));
  EXPECT_FALSE(failed);
}

}  // namespace
}  // namespace motley
