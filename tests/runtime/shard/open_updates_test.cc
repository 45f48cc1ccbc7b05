// SPDX-License-Identifier: Apache-2.0
// Several updates are open at a time. Each is answered, started again and committed on its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "base/random.h"
#include "tests/runtime/shard/answers_rig.h"

namespace motley {
namespace {

class OpenUpdates : public ShardedAnswers {
 protected:
  // Sends the answer to an order, computed with parameters of this version. Returns false when a
  // slice was refused.
  bool Answer(WorkerId worker, const Update& update, uint32_t order, float value) {
    for (size_t slice = 0; slice < 3; ++slice) {
      if (!Slice(worker, update, order, slice, value)) return false;
    }
    return true;
  }
  bool Slice(WorkerId worker, const Update& update, uint32_t order, size_t slice, float value) {
    Header header = SliceHeader(update.id, order, slice);
    header.version = update.base_version;
    header.tally = {.loss = value, .weight = 1};
    Claim(header, value, {});
    Answers::Slice arriving;
    const Result<bool> wanted = at->Begin(worker, header, false, arriving);
    if (!wanted.ok() || !*wanted) return wanted.ok();
    std::fill(arriving.values.begin(), arriving.values.end(), value);
    return at->Finish(worker, arriving).ok();
  }
  bool End(WorkerId worker, StepId id, uint32_t order, uint32_t entries = 0) {
    wire::AnswerEndT end;
    end.step = id;
    end.order = order;
    end.entries = entries;
    end.finished = true;
    const Result<bool> given = at->OnEnd(worker, end);
    return given.ok() && *given;
  }
  uint32_t Give(WorkerId worker, StepId id, RowId row) {
    return NumberOf(at->GiveRow(worker, id, row));
  }

  Answers answers = Make({.workers = 3, .partitions = 4});
  Answers* at = &answers;  // What the helpers above talk to.
};

// Each worker has an update of its own, as without a barrier. They end in any order.
TEST_P(OpenUpdates, AreCommittedInTheOrderInWhichTheirAnswersCome) {
  const auto whole = Form("none", 1, 0);
  std::vector<uint32_t> orders;
  for (const StepId id : {0, 1, 2}) {
    ASSERT_TRUE(answers.Open({id, 0}, whole).ok());
    orders.push_back(Give(static_cast<WorkerId>(id), id, 0));
  }
  EXPECT_EQ(orders, (std::vector<uint32_t>{1, 1, 1})) << "numbers are those of an update";
  // Slices of the three arrive in turns.
  for (size_t slice = 0; slice < 3; ++slice) {
    EXPECT_TRUE(Slice(2, {2, 0}, 1, slice, 30));
    if (slice < 2) {
      EXPECT_TRUE(Slice(0, {0, 0}, 1, slice, 10));
    }
  }
  EXPECT_TRUE(answers.decodable(2));
  EXPECT_FALSE(answers.decodable(0));
  EXPECT_EQ(Close(answers, 2), std::vector<float>(kLength, 30));
  // Worker 2 goes on with the new version, while the others still use the old one.
  newest = 1;
  ASSERT_TRUE(answers.Open({3, 1}, whole).ok());
  const uint32_t next = Give(2, 3, 0);
  EXPECT_TRUE(End(2, 2, 1));
  EXPECT_TRUE(Answer(2, {3, 1}, next, 40));
  EXPECT_TRUE(Slice(0, {0, 0}, 1, 2, 10));
  EXPECT_TRUE(Answer(1, {1, 0}, 1, 20));
  EXPECT_EQ(Close(answers, 3), std::vector<float>(kLength, 40));
  EXPECT_EQ(Close(answers, 0), std::vector<float>(kLength, 10));
  EXPECT_EQ(Close(answers, 1), std::vector<float>(kLength, 20));
  EXPECT_LE(sums.size(), 3u) << "the sum of a closed update serves another";
  EXPECT_TRUE(Of<RowRejected>().empty());
  EXPECT_EQ(Of<RowArrived>().size(), 4u);
}

TEST_P(OpenUpdates, TakeNoAnswerFromAnotherVersion) {
  ASSERT_TRUE(answers.Open({5, 3}, Form("none", 1, 0)).ok());
  const uint32_t order = Give(0, 5, 0);
  EXPECT_FALSE(Slice(0, {5, 4}, order, 0, 1));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_NE(Of<RowRejected>()[0].why.ToString().find("version 3 was ordered"), std::string::npos);
}

TEST_P(OpenUpdates, TakeAnswersFromTheirBaseVersionToTheNewest) {
  newest = 6;
  for (const uint64_t version : {2, 3, 6, 7}) {
    ASSERT_TRUE(answers.Open({5, 3}, Form("none", 1, 0)).ok());
    const uint32_t order = Give(0, 5, 0);
    EXPECT_EQ(Slice(0, {5, version}, order, 0, 1), version >= 3 && version <= 6) << version;
    EXPECT_TRUE(End(0, 5, order));
  }
}

// The server looks at the parameters of an answer again.
TEST_P(OpenUpdates, KnowTheParametersOfTheirAnswers) {
  std::map<uint64_t, ParameterCopy> versions;
  for (const uint64_t version : {5, 6}) {
    versions[version] = std::make_shared<const std::vector<float>>(kLength, version);
  }
  sent = [&](WorkerId, uint64_t version) { return versions[version]; };
  Answers looking = Make({.workers = 3, .partitions = 4});
  at = &looking;
  newest = 6;
  ASSERT_TRUE(looking.Open({7, 3}, Form("none", 1, 0)).ok());
  const Bytes& order = looking.GiveRow(0, 7, 0);
  EXPECT_EQ(DecodeControl(order).value().body.AsOrder()->version, 6u) << "only that one is kept";
  EXPECT_TRUE(Answer(0, {7, 6}, NumberOf(order), 10));
  const auto sum = looking.Close(7).value();
  EXPECT_EQ(sum->TakeOldest(), versions[6]);
  EXPECT_EQ(sum->TakeOldest(), nullptr) << "it is given up";
  ASSERT_TRUE(looking.Open({8, 3}, Form("none", 1, 0)).ok());
  const uint32_t next = Give(1, 8, 0);
  EXPECT_FALSE(Answer(1, {8, 4}, next, 10)) << "the worker was not sent it";
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_NE(Of<RowRejected>()[0].why.ToString().find("not sent"), std::string::npos);
}

// An update that was opened last has the log, and another one's answers are no part of it.
TEST_P(OpenUpdates, AreLoggedOneAtATime) {
  AnswerLog log(3, 9, 1, [](StepId) { return true; });
  answers.SetLog(&log);
  const auto whole = Form("none", 1, 0);
  ASSERT_TRUE(answers.Open({0, 0}, whole).ok());
  ASSERT_TRUE(answers.Open({1, 0}, whole).ok());
  EXPECT_FALSE(log.Keeps(0));
  EXPECT_TRUE(Answer(0, {0, 0}, Give(0, 0, 0), 1));
  const uint32_t order = Give(1, 1, 0);
  EXPECT_TRUE(Slice(1, {1, 0}, order, 0, 2));
  const StepAnswers taken = log.Take();
  EXPECT_EQ(taken.step, 1u);
  ASSERT_EQ(taken.answers.size(), 1u);
  EXPECT_EQ(taken.answers[0].worker, 1u);
  EXPECT_FALSE(log.Keeps(1));
  EXPECT_TRUE(Slice(1, {1, 0}, order, 1, 2)) << "which the log has no room for";
}

TEST_P(OpenUpdates, StartAgainAlone) {
  const auto pair = Form("none", 2, 0);
  ASSERT_TRUE(answers.Open({0, 0}, pair).ok());
  ASSERT_TRUE(answers.Open({1, 0}, pair).ok());
  const uint32_t kept = Give(0, 0, 0);
  EXPECT_TRUE(Answer(0, {0, 0}, kept, 1));
  EXPECT_TRUE(End(0, 0, kept));
  const uint32_t old = Give(1, 1, 0);
  EXPECT_TRUE(Slice(1, {1, 0}, old, 0, 7));
  ASSERT_TRUE(answers.Open({1, 0}, pair).ok());
  EXPECT_TRUE(Slice(1, {1, 0}, old, 1, 7)) << "late";
  EXPECT_TRUE(End(1, 1, old));
  for (const RowId row : {0, 1}) {
    const uint32_t order = Give(2, 1, row);
    EXPECT_GT(order, old) << "the numbers go on";
    EXPECT_TRUE(Answer(2, {1, 0}, order, 2));
    EXPECT_TRUE(End(2, 1, order));
  }
  EXPECT_EQ(Close(answers, 1), std::vector<float>(kLength, 4)) << "nothing of the first attempt";
  EXPECT_TRUE(Answer(1, {0, 0}, Give(1, 0, 1), 5));
  EXPECT_EQ(Close(answers, 0), std::vector<float>(kLength, 6));
  EXPECT_TRUE(Of<RowRejected>().empty());
}

TEST_P(OpenUpdates, HaveListsOfTheirOwn) {
  const auto lease = [&](WorkerId worker, StepId id, std::vector<PartitionId> partitions) {
    return answers.orders().Extend(worker, id, partitions).value().order;
  };
  ASSERT_TRUE(answers.Open({0, 0}, nullptr).ok());
  ASSERT_TRUE(answers.Open({1, 0}, nullptr).ok());
  const uint32_t zero = lease(0, 0, {0, 1, 2, 3});
  const uint32_t one = lease(1, 1, {0, 1, 2, 3});
  EXPECT_EQ(answers.orders().Extend(0, 1, std::vector<PartitionId>{0}).code(),
            StatusCode::kInternal)
      << "a worker has one list at a time";
  EXPECT_TRUE(Answer(0, {0, 0}, zero, 1));
  EXPECT_TRUE(Answer(1, {1, 0}, one, 2));
  EXPECT_TRUE(End(1, 1, one, 4));
  EXPECT_EQ(Close(answers, 1), std::vector<float>(kLength, 2));
  EXPECT_TRUE(End(0, 0, zero, 4)) << "its list stays open";
  EXPECT_EQ(Close(answers, 0), std::vector<float>(kLength, 1));
  ASSERT_TRUE(answers.Open({2, 2}, nullptr).ok());
  EXPECT_TRUE(answers.orders().Extend(0, 2, std::vector<PartitionId>{0}).ok());
}

// What is in a sum is what its own update's orders answered, in any interleaving.
TEST_P(OpenUpdates, DoNotMixUnderAnySchedule) {
  Random random(GetParam(), Stream::kTest);
  const auto whole = Form("none", 1, 0);
  struct Work {
    Update update;
    uint32_t order;
    size_t sent = 0;
  };
  std::vector<std::optional<Work>> work(3);
  StepId next = 0;
  uint64_t version = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto worker = static_cast<WorkerId>(random.Below(3));
    std::optional<Work>& mine = work[worker];
    if (!mine) {
      const Update update{next++, version};
      ASSERT_TRUE(answers.Open(update, whole).ok());
      mine = Work{update, Give(worker, update.id, 0)};
    } else if (random.Chance(0.02)) {
      ASSERT_TRUE(answers.Open(mine->update, whole).ok());
      EXPECT_TRUE(End(worker, mine->update.id, mine->order));
      mine = Work{mine->update, Give(worker, mine->update.id, 0)};
    } else if (mine->sent < 3) {
      const auto value = static_cast<float>(mine->update.id % 1000 + 1);
      EXPECT_TRUE(Slice(worker, mine->update, mine->order, mine->sent++, value));
    } else {
      const StepId id = mine->update.id;
      EXPECT_TRUE(answers.decodable(id));
      EXPECT_TRUE(End(worker, id, mine->order));
      EXPECT_EQ(Close(answers, id), std::vector<float>(kLength, static_cast<float>(id % 1000 + 1)));
      ++version;
      mine.reset();
    }
  }
  EXPECT_GT(version, 400u);
  EXPECT_EQ(sums.size(), 3u);
  EXPECT_TRUE(Of<RowRejected>().empty());
}

INSTANTIATE_TEST_SUITE_P(Shards, OpenUpdates, testing::Values(1, 2, 3));

}  // namespace
}  // namespace motley
