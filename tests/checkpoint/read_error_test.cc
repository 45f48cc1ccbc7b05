// SPDX-License-Identifier: Apache-2.0
// A disk that cannot read is not damage: nothing is given up, removed or moved because of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "checkpoint/shard_format.h"
#include "checkpoint_rig.h"

namespace motley {
namespace {

TEST(ReadErrors, OneAtAnyMomentTakesNothing) {
  const CheckpointState old_state = MakeState(10, 300);
  const CheckpointState new_state = MakeState(20, 300);
  // The code 5+0 needs all five shards, so every lost block is fatal.
  const CheckpointCode code{5, 0};
  int failed = 0;
  bool reached = true;
  for (uint64_t read = 0; reached; ++read) {
    for (const CheckpointState& state : {new_state, MakeState(15, 300), MakeState(30, 300)}) {
      SimStore store(read);
      ASSERT_TRUE(WriteCheckpoint(store, code, old_state).ok());
      ASSERT_TRUE(WriteCheckpoint(store, code, new_state).ok());
      const auto before = AllFiles(store);
      const uint64_t reads = store.reads();
      store.faults.fail_read_after = read;
      const Status status = WriteCheckpoint(store, code, state);
      reached = store.reads() > reads + read;
      store.faults.fail_read_after = uint64_t{1} << 40;  // Far beyond the reads of this test.
      if (!status.ok() && status.code() != StatusCode::kConflict) {
        ++failed;
        ASSERT_EQ(status.code(), StatusCode::kResource) << read << ": " << status.ToString();
        ASSERT_NE(status.ToString().find("simulated input/output error"), std::string::npos)
            << status.ToString();
      }
      if (state.step == 30 && status.ok()) continue;
      ASSERT_EQ(AllFiles(store), before) << read;
    }
  }
  EXPECT_GT(failed, 30);
}

TEST(ReadErrors, TheNewestIsNotPassedOver) {
  SimStore store(1);
  const CheckpointCode code{4, 0};
  ASSERT_TRUE(WriteCheckpoint(store, code, MakeState(10, 300)).ok());
  ASSERT_TRUE(WriteCheckpoint(store, code, MakeState(20, 300)).ok());
  store.faults.unreadable = ShardPath(1, 20);
  for (const Status& status : {ReadCheckpoint(store).status(), RepairCheckpoint(store).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kResource) << status.ToString();
    EXPECT_NE(status.ToString().find("cannot read disk:/node-01/step-000000000020.shard"),
              std::string::npos)
        << status.ToString();
  }
  EXPECT_TRUE(ReadCheckpoint(store, 10).ok());
  store.faults.unreadable = "";
  EXPECT_EQ(ReadCheckpoint(store)->step, 20u);
}

TEST(ReadErrors, AreRebuiltAroundAndTold) {
  SimStore store(1);
  ASSERT_TRUE(WriteCheckpoint(store, {}, MakeState(20, 300)).ok());
  store.faults.unreadable = "node-01";
  std::vector<std::string> notes;
  const auto read = ReadCheckpoint(store, {}, &notes);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_TRUE(Same(*read, MakeState(20, 300)));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("cannot list disk:/node-01"), std::string::npos) << notes[0];
}

// Its content may be any job's, unless the folder is known to be this job's own.
TEST(ReadErrors, AFolderThatCannotBeListedStopsOtherJobs) {
  for (const char* folder : {"node-00", "node-05"}) {
    SimStore store(1);
    ASSERT_TRUE(WriteCheckpoint(store, {}, MakeState(20, 300)).ok());
    store.faults.unreadable = folder;
    for (const uint64_t job : {0, 99}) {
      const Status status = CheckWritable(store, job, 20);
      EXPECT_EQ(status.code(), StatusCode::kResource) << status.ToString();
    }
    EXPECT_TRUE(CheckWritable(store, MakeState(20, 300).job, 20).ok());
  }
}

TEST(ReadErrors, AFolderThatCannotBeListedIsLeftOutAndNotTouched) {
  SimStore store(1);
  ASSERT_TRUE(WriteCheckpoint(store, {}, MakeState(20, 300)).ok());
  store.faults.unreadable = "node-05";
  WrittenCheckpoint written;
  const Status status = WriteCheckpoint(store, {}, MakeState(30, 300), {}, &written);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(written.left_out.size(), 1u);
  EXPECT_EQ(written.left_out[0].folder, "disk:/node-05");
  store.faults.unreadable = "";
  EXPECT_EQ(store.Size(ShardPath(5, 30)).code(), StatusCode::kNotFound);
  EXPECT_TRUE(store.Size(ShardPath(5, 20)).ok());
  const CheckpointCode none_to_spare{6, 0};
  store.faults.unreadable = "node-05";
  EXPECT_EQ(WriteCheckpoint(store, none_to_spare, MakeState(40, 300)).code(),
            StatusCode::kResource);
}

TEST(ReadBack, WhatFailsItDoesNotStay) {
  for (const CheckpointCode& code : {CheckpointCode{6, 0}, CheckpointCode{4, 2}}) {
    SimStore store(1);
    ASSERT_TRUE(WriteCheckpoint(store, code, MakeState(10, 300)).ok());
    const auto before = AllFiles(store);
    store.faults.unreadable = ShardPath(3, 20);
    WrittenCheckpoint written;
    const Status status = WriteCheckpoint(store, code, MakeState(20, 300), {}, &written);
    store.faults.unreadable = "";
    EXPECT_EQ(store.Size(ShardPath(3, 20)).code(), StatusCode::kNotFound);
    if (code.parity == 0) {
      EXPECT_EQ(status.code(), StatusCode::kResource) << status.ToString();
      EXPECT_EQ(AllFiles(store), before);
    } else {
      ASSERT_EQ(written.left_out.size(), 1u) << status.ToString();
      EXPECT_NE(written.left_out[0].why.ToString().find("reading it back: cannot read"),
                std::string::npos)
          << written.left_out[0].why.ToString();
    }
    EXPECT_TRUE(WriteCheckpoint(store, code, MakeState(20, 300)).ok());
    EXPECT_TRUE(VerifyCheckpoint(store)->healthy());
  }
}

// Folders that have no shard of this checkpoint (of an earlier, wider code) may be unreadable.
TEST(ReadErrors, OnlyFoldersOfTheCheckpointsOwnShardsCount) {
  SimStore store(1);
  ASSERT_TRUE(WriteCheckpoint(store, {9, 4}, MakeState(10, 300)).ok());
  ASSERT_TRUE(WriteCheckpoint(store, {}, MakeState(20, 300)).ok());
  store.faults.unreadable = "node-1";  // Three folders, more than the two that can be spared.
  WrittenCheckpoint written;
  const Status status = WriteCheckpoint(store, {}, MakeState(30, 300), {}, &written);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(written.left_out.empty());
  store.faults.unreadable = "node-0";
  EXPECT_EQ(WriteCheckpoint(store, {}, MakeState(40, 300)).code(), StatusCode::kResource);
}

// No number of read errors is a reason to move aside the checkpoint that was acknowledged last.
TEST(ReadErrors, TheSameStepIsNotPutAside) {
  SimStore store(1);
  const CheckpointCode code{4, 0};
  ASSERT_TRUE(WriteCheckpoint(store, code, MakeState(10, 300)).ok());
  ASSERT_TRUE(WriteCheckpoint(store, code, MakeState(20, 300)).ok());
  const auto before = AllFiles(store);
  store.faults.unreadable = ShardPath(1, 20);
  for (const uint64_t variant : {0, 1}) {
    const Status status = WriteCheckpoint(store, code, MakeState(20, 300, variant));
    EXPECT_EQ(status.code(), StatusCode::kResource) << status.ToString();
  }
  store.faults.unreadable = "";
  EXPECT_EQ(AllFiles(store), before);
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(20, 300)));
}

TEST(ReadBack, EachShardHasItsOwnReason) {
  SimStore store(1);
  ASSERT_TRUE(WriteCheckpoint(store, {}, MakeState(20, 300)).ok());
  store.faults.unreadable = ShardPath(3, 20);
  ASSERT_TRUE(store.FlipBit(ShardPath(1, 20), (kHeaderBytes + 10) * 8).ok());
  const auto report = VerifyCheckpoint(store);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->shards[1].read_error.ok());
  EXPECT_FALSE(report->shards[1].healthy());
  EXPECT_EQ(report->shards[3].read_error.code(), StatusCode::kResource);
}

// Rot in a checkpoint that is read is repaired in memory, and a note says so.
TEST(Notes, SayWhatWasRebuilt) {
  SimStore store(1);
  ASSERT_TRUE(WriteCheckpoint(store, {}, MakeState(20, 300)).ok());
  ASSERT_TRUE(store.FlipBit(ShardPath(1, 20), (kHeaderBytes + 10) * 8).ok());
  ASSERT_TRUE(store.FlipBit(ShardPath(2, 20), 800).ok());  // In the header.
  std::vector<std::string> notes;
  ASSERT_TRUE(ReadCheckpoint(store, {}, &notes).ok());
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find("1 of 1 blocks of shard 1 (disk:/node-01/step-000000000020.shard)"),
            std::string::npos)
      << notes[0];
  EXPECT_NE(notes[1].find("shard 2"), std::string::npos) << notes[1];
  EXPECT_NE(notes[1].find("its blocks were used"), std::string::npos) << notes[1];
  EXPECT_EQ(notes[1].find("without"), std::string::npos) << notes[1];
}

// A parity block with a right checksum that belongs to other data is damage.
TEST(Parity, ThatIsNotOfTheDataIsDamage) {
  SimStore store(1);
  ASSERT_TRUE(WriteCheckpoint(store, {}, MakeState(20, 300)).ok());
  const auto whole = AllFiles(store);
  for (const uint32_t shard : {4u, 5u}) {
    Put(store, ShardPath(shard, 20), WithOtherBlock(Contents(store, ShardPath(shard, 20)), 0));
    const auto report = VerifyCheckpoint(store);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->shards[shard].damaged_blocks, (std::vector<uint64_t>{0}));
    EXPECT_EQ(report->shards[9 - shard].damaged_blocks, (std::vector<uint64_t>{}));
    EXPECT_TRUE(report->restorable());
    ASSERT_TRUE(RepairCheckpoint(store).ok());
    EXPECT_EQ(AllFiles(store), whole);
  }
}

TEST(LostStripes, ThoseBehindAllFilesAreCounted) {
  SimStore store(1);
  const CheckpointState state = MakeState(5, 2'500'000);  // Three stripes of 4 x 1 MiB.
  ASSERT_TRUE(WriteCheckpoint(store, {}, state).ok());
  for (uint32_t shard = 0; shard < 6; ++shard) {
    ASSERT_TRUE(store.Truncate(ShardPath(shard, 5), kHeaderBytes + 100).ok());
  }
  const auto report = VerifyCheckpoint(store);
  ASSERT_TRUE(report.ok());
  EXPECT_NE(report->ToText().find("lost in 3 of 3 stripes: 0-2"), std::string::npos)
      << report->ToText();
}

}  // namespace
}  // namespace motley
