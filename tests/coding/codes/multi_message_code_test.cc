// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/multi_message_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "coding/decode/stream_decoder.h"
#include "coding/placement/straggler_sets.h"
#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

std::vector<size_t> Loads(const CodeForm& form) {
  std::vector<size_t> loads;
  for (const auto& list : form.lists) {
    size_t& load = loads.emplace_back(0);
    for (const RowId row : list) load += form.rows[row].size();
  }
  return loads;
}

TEST(MultiMessageCode, IsWhatWasAskedFor) {
  for (const CodeRequest& request : UsualRequests(4)) {
    SCOPED_TRACE(Describe(request));
    const CodeForm form = MustBuild("multi-message", request);
    EXPECT_TRUE(Validate(form).ok()) << Validate(form).ToString();
    EXPECT_EQ(form.owners(), request.speeds.size());
    EXPECT_EQ(form.stragglers, request.stragglers);
    EXPECT_GE(form.workers, std::min<size_t>(request.speeds.size(), request.partitions));
    const std::vector<size_t> loads = Loads(form);
    EXPECT_EQ(std::accumulate(loads.begin(), loads.end(), size_t{0}),
              size_t{request.partitions} * (request.stragglers + 1));
    EXPECT_EQ(MustBuild("multi-message", request).lists, form.lists) << "the same lists again";
  }
}

TEST(MultiMessageCode, WhateverSWorkersAreMissingTheOthersHaveEveryRow) {
  for (const CodeRequest& request : UsualRequests(3)) {
    SCOPED_TRACE(Describe(request));
    const CodeForm form = MustBuild("multi-message", request);
    Random random(5, Stream::kTest, form.owners());
    for (const auto& set : StragglerSets(form.owners(), form.stragglers, 50, random)) {
      std::vector<bool> workers(form.owners(), true);
      for (const WorkerId worker : set) workers[worker] = false;
      const auto solved = Solve(form, RowsOfWorkers(form, workers));
      ASSERT_TRUE(solved.ok()) << solved.status().ToString();
      EXPECT_EQ(solved->amplification, 1);
    }
    // With one more missing worker, all holders of the first row are gone.
    std::vector<bool> workers(form.owners(), true);
    for (WorkerId worker = 0; worker < form.owners(); ++worker) {
      const auto& list = form.lists[worker];
      if (std::find(list.begin(), list.end(), RowId{0}) != list.end()) workers[worker] = false;
    }
    EXPECT_EQ(Solve(form, RowsOfWorkers(form, workers)).code(), StatusCode::kNotDecodable);
  }
}

TEST(MultiMessageCode, QualityIsThatOfPlainSums) {
  const CodeQuality quality =
      AssessCode(MustBuild("multi-message", EqualRequest(6, 2, 24)), 100, 1);
  EXPECT_TRUE(quality.exhaustive);
  EXPECT_EQ(quality.sets_checked, 15u);
  EXPECT_EQ(quality.worst_amplification, 1);
}

TEST(MultiMessageCode, SharesFollowTheSpeedsAndMessagesStayFew) {
  const CodeForm form = MustBuild("multi-message", {{1, 1, 2, 4}, 1, 96, 0});
  EXPECT_EQ(form.workers, 12u) << "six messages per worker, two copies";
  EXPECT_EQ(Loads(form), (std::vector<size_t>{24, 24, 48, 96}));
  // One worker of a hundred is 50 times as fast: chunks grow, so that its list stays short.
  CodeRequest request = EqualRequest(100, 1, 1600);
  request.speeds[7] = 50;
  const CodeForm steep = MustBuild("multi-message", request);
  size_t longest = 0;
  for (const auto& list : steep.lists) longest = std::max(longest, list.size());
  EXPECT_LE(longest, 48u);
  EXPECT_GE(longest, 40u);
}

TEST(MultiMessageCode, MessagesMayBeAskedFor) {
  CodeRequest request = EqualRequest(4, 1, 64);
  request.messages = 10;
  EXPECT_EQ(MustBuild("multi-message", request).workers, 20u);
  request.messages = 1;
  EXPECT_EQ(MustBuild("multi-message", request).workers, 4u) << "at least one chunk per worker";
}

// Copies come last: while all workers have the expected speed, nothing is computed twice.
TEST(MultiMessageCode, EqualWorkersBeginWithDifferentChunks) {
  for (uint32_t s = 0; s < 3; ++s) {
    const CodeForm form = MustBuild("multi-message", EqualRequest(6, s, 72));
    std::set<RowId> begun;
    for (size_t turn = 0; turn < form.workers / 6; ++turn) {
      for (const auto& list : form.lists) EXPECT_TRUE(begun.insert(list[turn]).second) << s;
    }
    EXPECT_EQ(begun.size(), form.workers);
  }
}

TEST(MultiMessageCode, TooManyStragglersAreRefusedWithTheLimit) {
  const auto form = BuildCode("multi-message", EqualRequest(300, 299, 300));
  EXPECT_EQ(form.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(form.status().message().find("at most 255"), std::string::npos);
}

// Slices of all copies come in random order, and the first of each counts.
TEST(MultiMessageCode, FirstCopiesInAnyOrderGiveThePlainSumTo2e6) {
  for (const CodeRequest& request : UsualRequests(2)) {
    SCOPED_TRACE(Describe(request));
    const CodeForm form = MustBuild("multi-message", request);
    const CodedJob job = MakeJob(form, 60, 3);
    const auto parallel = MakeSerialParallelFor();
    Random random(9, Stream::kTest, form.workers, form.stragglers);
    std::vector<float> first;
    for (int round = 0; round < 3; ++round) {
      StreamDecoder decoder(form, job.sum.size(), 16, *parallel);
      std::vector<std::pair<RowId, size_t>> order;
      for (const auto& list : form.lists) {
        for (const RowId row : list) {
          for (size_t slice = 0; slice < decoder.slice_count(); ++slice)
            order.push_back({row, slice});
        }
      }
      random.Shuffle(std::span(order));
      size_t added = 0;
      for (const auto& [row, slice] : order) {
        const float* from = job.answers[row].data() + decoder.slice_begin(slice);
        AlignedVector values(from, from + decoder.slice_length(slice));
        const auto outcome = decoder.AddSlice(row, slice, values, 1e9);
        ASSERT_TRUE(outcome.ok());
        added += *outcome == StreamDecoder::Outcome::kAdded;
      }
      EXPECT_EQ(added, form.workers * decoder.slice_count()) << "each slice once";
      ASSERT_TRUE(decoder.Decodable());
      std::vector<float> sum(job.sum.size());
      ASSERT_TRUE(decoder.Finish(sum).ok());
      EXPECT_LE(RelativeError(sum, job.sum), 2e-6);
      if (round == 0) first = sum;
      EXPECT_EQ(sum, first) << "bit-equal whichever copy came first";
    }
  }
}

TEST(MultiMessageCode, ListsThatCannotBeAreRefused) {
  const CodeForm good = MustBuild("multi-message", EqualRequest(4, 1, 24));
  CodeForm twice = good;
  twice.lists[0][0] = twice.lists[0][1];
  EXPECT_EQ(Validate(twice).code(), StatusCode::kInvalidArgument);
  CodeForm beyond = good;
  beyond.lists[0][0] = good.workers;
  EXPECT_EQ(Validate(beyond).code(), StatusCode::kInvalidArgument);
  CodeForm fewer = good;
  fewer.lists[0].pop_back();
  EXPECT_EQ(Validate(fewer).code(), StatusCode::kInvalidArgument);
  CodeForm overlap = good;
  overlap.rows[1].insert(overlap.rows[1].begin(), {0, 1});
  EXPECT_EQ(Validate(overlap).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace motley
