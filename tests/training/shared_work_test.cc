// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/shared_work.h"

#include <gtest/gtest.h>

#include <vector>

namespace motley {
namespace {

MergedTerm Term(std::complex<double> weight, std::vector<PartitionSlice> slices) {
  return {.coefficient = weight, .other_parts = {}, .slices = std::move(slices)};
}
PartitionSlice Slice(PartitionId partition, uint32_t begin, uint32_t count) {
  return {.partition = partition, .range = {begin, count}, .block = nullptr};
}

SharedWork Work(std::vector<MergedTerm> terms, uint32_t classes = 3) {
  const auto model = Model::Create({"softmax", 5, classes});
  return SharedWork(std::move(terms), **model);
}
SharedWork Work() {
  return Work({Term(1, {Slice(0, 10, 5), Slice(1, 0, 3)}), Term(2, {Slice(4, 7, 8)})});
}

TEST(SharedWork, PiecesAreCutAcrossTermsAndPartitions) {
  SharedWork work = Work();
  EXPECT_EQ(work.samples(), 16u);
  EXPECT_TRUE(work.one_sum());
  const SharedWork::Piece first = work.Take(3);
  const SharedWork::Piece second = work.Take(7);
  EXPECT_EQ(work.left(), 6u);
  const std::vector<MergedTerm> cut = work.Terms(second);
  ASSERT_EQ(cut.size(), 2u);
  ASSERT_EQ(cut[0].slices.size(), 2u);
  EXPECT_EQ(cut[0].slices[0].range.begin, 13u);
  EXPECT_EQ(cut[0].slices[0].range.count, 2u);
  EXPECT_EQ(cut[0].slices[1].range.begin, 0u);
  EXPECT_EQ(cut[0].slices[1].range.count, 3u);
  EXPECT_EQ(cut[1].coefficient, 2.0);
  EXPECT_EQ(cut[1].slices[0].range.begin, 7u);
  EXPECT_EQ(cut[1].slices[0].range.count, 2u);
  EXPECT_EQ(work.Terms(first).size(), 1u);
}

// Returned pieces are taken again first, each exactly once.
TEST(SharedWork, WhatIsGivenBackIsTakenByOthers) {
  SharedWork work = Work();
  std::vector<SharedWork::Piece> failed = {work.Take(4), work.Take(4)};
  std::vector<int> times(16, 0);
  work.GiveBack(failed);
  EXPECT_EQ(work.left(), 16u);
  while (work.left() > 0) {
    const SharedWork::Piece piece = work.Take(3);
    ASSERT_GT(piece.samples(), 0u);
    for (uint64_t i = piece.begin; i < piece.end; ++i) ++times[i];
  }
  EXPECT_EQ(times, std::vector<int>(16, 1));
}

// Only some models take complex weights, and they need pairs of outputs. Parts of vectors never add
// up in one sum.
TEST(SharedWork, KnowsWhichTermsAddUpInOneSum) {
  EXPECT_FALSE(Work({Term({0, 1}, {Slice(0, 0, 1)})}, 3).one_sum());
  EXPECT_TRUE(Work({Term({0, 1}, {Slice(0, 0, 1)})}, 4).one_sum());
  MergedTerm in_parts = Term(1, {Slice(0, 0, 1)});
  in_parts.other_parts = {2};
  EXPECT_FALSE(Work({in_parts}, 4).one_sum());
  EXPECT_EQ(Work({}, 3).left(), 0u);
}

// Difference between the ends of two devices that run at their promised speeds, in units of the
// time of one sample on both together.
double Apart(uint64_t total, double part) {
  uint64_t left = total;
  double now[2] = {0, 0};
  const double parts[2] = {part, 1 - part};
  bool idle[2] = {false, false};
  while (left > 0) {
    const int who = idle[0] || (!idle[1] && now[1] < now[0]) ? 1 : 0;
    const uint64_t piece = NextPiece(left, total, parts[who], parts[who] >= 0.5);
    idle[who] = piece == 0;
    EXPECT_FALSE(idle[0] && idle[1]);
    if (idle[0] && idle[1]) break;
    EXPECT_LE(piece, left);
    now[who] += static_cast<double>(piece) / parts[who];
    left -= piece;
  }
  return std::abs(now[0] - now[1]);
}

TEST(NextPiece, DevicesOfAnySpeedsAreDoneAtAboutTheSameTime) {
  for (const uint64_t total : {1024u, 4096u, 65536u}) {
    for (const double part : {0.5, 0.6, 0.75, 0.9}) {
      // The last piece of the slower device, which has the smallest size.
      EXPECT_LE(Apart(total, part), 32 / (1 - part)) << total << " " << part;
    }
  }
}

TEST(NextPiece, WorkIsSoonLeftWhenNobodyWantsIt) {
  EXPECT_EQ(NextPiece(32, 32, 0.5, true), 8u) << "of little work nobody does all";
  EXPECT_LE(NextPiece(4096, 4096, 0.5, true), 4096u / 8 + 8);
  EXPECT_LE(NextPiece(4096, 4096, 1, true), 4096u / 4 + 8);
}

TEST(NextPiece, WhoeverIsTooSlowLeavesItToTheOthers) {
  EXPECT_EQ(NextPiece(512, 512, 0.005, false), 0u);
  EXPECT_EQ(NextPiece(512, 512, 0.02, false), 8u);
  EXPECT_EQ(NextPiece(512, 512, 0.1, false), 32u);
  EXPECT_EQ(NextPiece(6, 512, 0.5, false), 0u);
  EXPECT_EQ(NextPiece(6, 512, 0.5, true), 6u);
  EXPECT_EQ(NextPiece(0, 512, 1, true), 0u);
  EXPECT_EQ(NextPiece(1, 1, 0.5, true), 1u);
}

}  // namespace
}  // namespace motley
