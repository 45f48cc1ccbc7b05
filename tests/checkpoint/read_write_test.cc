// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "checkpoint/shard_format.h"
#include "checkpoint_rig.h"

namespace motley {
namespace {

const CheckpointCode kCode;  // 4+2

Status Write(Store& store, const CheckpointState& state, const CheckpointCode& code = kCode) {
  return WriteCheckpoint(store, code, state);
}

std::vector<uint64_t> Steps(Store& store) {
  std::vector<uint64_t> steps;
  const auto list = ListCheckpoints(store);
  EXPECT_TRUE(list.ok());
  for (const CheckpointInfo& info : *list) steps.push_back(info.step);
  return steps;
}

TEST(Checkpoint, ComesBackAsItWas) {
  for (const char* text : {"4+2", "cauchy:4+2", "1+0", "1+3", "7+5", "10+0", "90+10"}) {
    for (const size_t parameters : {0u, 1u, 15u, 16u, 17u, 1000u}) {
      SimStore store(1);
      const CheckpointState state = MakeState(12, parameters, 2);
      const Status written = Write(store, state, *ParseCheckpointCode(text));
      ASSERT_TRUE(written.ok()) << text << ": " << written.ToString();
      const auto read = ReadCheckpoint(store);
      ASSERT_TRUE(read.ok()) << text << ": " << read.status().ToString();
      EXPECT_TRUE(Same(*read, state)) << text << " " << parameters;
      EXPECT_TRUE(VerifyCheckpoint(store)->healthy());
    }
  }
}

// Several stripes of whole blocks, and a shorter last one.
TEST(Checkpoint, ComesBackInManyStripes) {
  SimStore store(1);
  const CheckpointState state = MakeState(3, 1'000'003, 1);
  ASSERT_TRUE(Write(store, state, {2, 1, ErasureTechnique::kCauchy}).ok());
  const auto report = VerifyCheckpoint(store);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->stripes, 4u);
  store.RemoveFolder("node-00");
  const auto read = ReadCheckpoint(store);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_TRUE(Same(*read, state));
}

TEST(Checkpoint, EveryBitPatternOfAFloatComesBack) {
  SimStore store(1);
  CheckpointState state = MakeState(1, 4);
  state.parameters = std::make_shared<std::vector<float>>(std::vector<float>{
      std::numeric_limits<float>::quiet_NaN(), -0.0f, std::numeric_limits<float>::denorm_min(),
      -std::numeric_limits<float>::infinity()});
  state.description = std::string("\0{}\xff", 4);
  ASSERT_TRUE(Write(store, state).ok());
  EXPECT_TRUE(Same(*ReadCheckpoint(store), state));
}

TEST(Checkpoint, AnyTwoOfSixFoldersMayBeLost) {
  const CheckpointState state = MakeState(5, 300);
  for (uint32_t a = 0; a < 6; ++a) {
    for (uint32_t b = a; b < 6; ++b) {
      SimStore store(1);
      ASSERT_TRUE(Write(store, state).ok());
      store.RemoveFolder(ShardFolder(a));
      store.RemoveFolder(ShardFolder(b));
      std::vector<std::string> notes;
      const auto read = ReadCheckpoint(store, {}, &notes);
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      EXPECT_TRUE(Same(*read, state));
      ASSERT_EQ(notes.size(), a == b ? 1u : 2u);
      EXPECT_NE(notes[0].find(fmt::format("shard {} (disk:/node-0{}", a, a)), std::string::npos);
    }
  }
}

TEST(Checkpoint, ThreeLostFoldersAreNamed) {
  SimStore store(1);
  ASSERT_TRUE(Write(store, MakeState(5, 300)).ok());
  for (const uint32_t shard : {0u, 3u, 4u}) store.RemoveFolder(ShardFolder(shard));
  const auto read = ReadCheckpoint(store);
  ASSERT_EQ(read.code(), StatusCode::kNotDecodable);
  const std::string text = read.status().ToString();
  for (const char* part : {"shard 0 (disk:/node-00/step-000000000005.shard): missing", "shard 3",
                           "shard 4", "more than 2 blocks are lost"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("shard 1"), std::string::npos) << text;
}

TEST(Checkpoint, OlderOnesGoOnlyAfterTheNewIsThere) {
  SimStore store(1);
  for (uint64_t step = 10; step <= 50; step += 10)
    ASSERT_TRUE(Write(store, MakeState(step, 9)).ok());
  EXPECT_EQ(Steps(store), (std::vector<uint64_t>{50, 40}));
  ASSERT_TRUE(WriteCheckpoint(store, kCode, MakeState(60, 9), {.newest = 1}).ok());
  EXPECT_EQ(Steps(store), (std::vector<uint64_t>{60}));
  EXPECT_EQ(store.Files().size(), 6u);
}

// The disk may keep anything that was not synced, so the names of new folders must be synced, too.
TEST(Checkpoint, OneThatWasAcknowledgedSurvivesAPowerCut) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimStore store(seed);
    const CheckpointState state = MakeState(10, 20);
    ASSERT_TRUE(Write(store, state).ok());
    store.PowerOn();
    const auto read = ReadCheckpoint(store);
    ASSERT_TRUE(read.ok()) << "seed " << seed << ": " << read.status().ToString();
    EXPECT_TRUE(Same(*read, state)) << seed;
  }
}

TEST(Checkpoint, TheGivenStepIsRead) {
  SimStore store(1);
  ASSERT_TRUE(Write(store, MakeState(10, 20)).ok());
  ASSERT_TRUE(Write(store, MakeState(20, 20)).ok());
  EXPECT_TRUE(Same(*ReadCheckpoint(store, 10), MakeState(10, 20)));
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(20, 20)));
  const auto none = ReadCheckpoint(store, 15);
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_EQ(none.status().message(),
            "there is no checkpoint of step 15 in disk:/; there are those of steps 20, 10");
}

TEST(Checkpoint, AnEmptyFolderHasNone) {
  SimStore store(1);
  EXPECT_EQ(ReadCheckpoint(store).code(), StatusCode::kNotFound);
  EXPECT_EQ(VerifyCheckpoint(store).code(), StatusCode::kNotFound);
  EXPECT_EQ(RepairCheckpoint(store).code(), StatusCode::kNotFound);
  EXPECT_TRUE(ListCheckpoints(store)->empty());
}

TEST(Checkpoint, AnotherJobsFolderIsRefused) {
  SimStore store(1);
  ASSERT_TRUE(Write(store, MakeState(10, 20)).ok());
  const auto before = AllFiles(store);
  CheckpointState other = MakeState(20, 20);
  other.job = 99;
  const Status status = Write(store, other);
  EXPECT_EQ(status.code(), StatusCode::kConflict);
  EXPECT_NE(status.ToString().find("another job: step 10 of job 0123456789abcdef"),
            std::string::npos)
      << status.ToString();
  EXPECT_EQ(AllFiles(store), before);
}

TEST(Checkpoint, ANewerOneOfThisJobIsNotWrittenUnder) {
  SimStore store(1);
  ASSERT_TRUE(Write(store, MakeState(20, 20)).ok());
  const Status status = Write(store, MakeState(10, 20));
  EXPECT_EQ(status.code(), StatusCode::kConflict);
  EXPECT_NE(status.ToString().find("step 20"), std::string::npos);
  EXPECT_EQ(Steps(store), (std::vector<uint64_t>{20}));
}

TEST(Checkpoint, TheSameStepAgainIsLeftAsItIs) {
  SimStore store(1);
  ASSERT_TRUE(Write(store, MakeState(20, 20)).ok());
  const auto before = AllFiles(store);
  ASSERT_TRUE(Write(store, MakeState(20, 20)).ok());
  EXPECT_EQ(AllFiles(store), before);
  ASSERT_TRUE(store.FlipBit("node-01/step-000000000020.shard", 5000).ok());
  ASSERT_TRUE(Write(store, MakeState(20, 20)).ok());
  EXPECT_EQ(AllFiles(store), before);  // It was repaired.
  for (uint32_t shard = 0; shard < 3; ++shard) store.RemoveFolder(ShardFolder(shard));
  ASSERT_TRUE(Write(store, MakeState(20, 20, 1)).ok());
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(20, 20, 1)));
  EXPECT_TRUE(VerifyCheckpoint(store)->healthy());
}

TEST(Checkpoint, LeftoversOfInterruptedWritesGo) {
  SimStore store(1);
  Put(store, "node-01/step-000000000007.shard.tmp", Bytes(100));
  Put(store, "node-01/notes.txt", Bytes(10));
  Put(store, "node-77/step-000000000008.shard.tmp", Bytes(100));
  ASSERT_TRUE(Write(store, MakeState(20, 20)).ok());
  EXPECT_EQ(store.Files().size(), 7u);  // Six shards, and a foreign file.
  EXPECT_EQ(*store.Size("node-01/notes.txt"), 10u);
}

// The remains are of an interrupted write of the same step, with another code.
TEST(Checkpoint, RemainsOfTheSameStepGoAside) {
  SimStore store(1);
  ASSERT_TRUE(Write(store, MakeState(20, 20)).ok());
  for (uint32_t shard = 0; shard < 3; ++shard) store.RemoveFolder(ShardFolder(shard));
  ASSERT_TRUE(Write(store, MakeState(20, 20, 1), {2, 1}).ok());
  EXPECT_EQ(store.Files().size(), 6u);
  EXPECT_EQ(ListCheckpoints(store)->size(), 1u);
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(20, 20, 1)));
}

TEST(Checkpoint, WhatCannotBeIsRefused) {
  SimStore store(1);
  CheckpointState state = MakeState(1, 4);
  EXPECT_EQ(Write(store, state, {0, 2}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Write(store, state, {99, 2}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Write(store, state, {1, 0xffffffff}).code(), StatusCode::kInvalidArgument);
  state.optimizer_state = nullptr;
  EXPECT_EQ(Write(store, state).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(store.Files().empty());
}

TEST(Checkpoint, TheListSaysWhatHeadersSay) {
  SimStore store(1);
  ASSERT_TRUE(Write(store, MakeState(10, 20, 2), {3, 2, ErasureTechnique::kCauchy}).ok());
  store.RemoveFolder("node-04");
  const auto list = ListCheckpoints(store);
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 1u);
  const CheckpointInfo& info = list->front();
  EXPECT_EQ(info.step, 10u);
  EXPECT_EQ(info.seed, 7u);
  EXPECT_EQ(ToText(info.code), "cauchy:3+2");
  EXPECT_EQ(info.parameters, 20u);
  EXPECT_EQ(info.optimizer_state, 40u);
  EXPECT_EQ(info.shard_bytes, *store.Size("node-00/step-000000000010.shard"));
  EXPECT_EQ(info.missing_shards, (std::vector<uint32_t>{4}));
  EXPECT_TRUE(info.restorable);
  EXPECT_EQ(info.id.size(), 32u);
}

}  // namespace
}  // namespace motley
