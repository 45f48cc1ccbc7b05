// SPDX-License-Identifier: Apache-2.0
// Unrestorable files do not block a write and are never deleted: they are moved aside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "checkpoint/shard_format.h"
#include "checkpoint_rig.h"

namespace motley {
namespace {

constexpr uint64_t kBlock = kHeaderBytes + 10;  // A byte of the first block.

void Write(SimStore& store, const CheckpointState& state) {
  const Status status = WriteCheckpoint(store, {}, state);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

// Damages one more block than the code tolerates, and leaves every header intact.
void Spoil(SimStore& store, uint64_t step) {
  for (const uint32_t shard : {0, 2, 5}) {
    ASSERT_TRUE(store.FlipBit(ShardPath(shard, step), kBlock * 8).ok());
  }
}

// Counts the files of `before` that now have another name, byte for byte.
int Aside(SimStore& store, const std::map<std::string, Bytes>& before, uint64_t step) {
  const auto now = AllFiles(store);
  int count = 0;
  for (const auto& [path, bytes] : before) {
    if (!path.ends_with(ShardPath(0, step).substr(8))) continue;
    const auto it = now.find(path + ".orphan-1");
    count += it != now.end() && it->second == bytes ? 1 : 0;
  }
  return count;
}

TEST(Aside, ADamagedNewestDoesNotStopTheNextSave) {
  SimStore store(1);
  Write(store, MakeState(10, 300));
  Write(store, MakeState(20, 300));
  Spoil(store, 20);
  ASSERT_EQ(ReadCheckpoint(store).code(), StatusCode::kNotDecodable);
  const auto before = AllFiles(store);
  WrittenCheckpoint written;
  const Status status = WriteCheckpoint(store, {}, MakeState(12, 300), {.newest = 1}, &written);
  const std::vector<std::string>& notes = written.notes;
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(12, 300)));
  EXPECT_EQ(Aside(store, before, 20), 6);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("step 20"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find(".orphan-1"), std::string::npos) << notes[0];
  Write(store, MakeState(20, 300));
  EXPECT_EQ(Aside(store, before, 20), 6);
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(20, 300)));
}

TEST(Aside, TheDamagedStepItselfCanBeWrittenAgain) {
  SimStore store(1);
  for (int time = 1; time <= 2; ++time) {
    Write(store, MakeState(20, 300));
    Spoil(store, 20);
  }
  const auto before = AllFiles(store);
  EXPECT_EQ(before.size(), 12u);  // Six were moved aside the first time.
  Write(store, MakeState(20, 300, 1));
  EXPECT_EQ(store.Files().size(), 18u);  // Earlier orphans are not replaced.
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(20, 300, 1)));
}

TEST(Aside, ARestorableNewerOneStillRefuses) {
  SimStore store(1);
  Write(store, MakeState(20, 300));
  store.RemoveFolder("node-01");
  ASSERT_TRUE(store.FlipBit(ShardPath(2, 20), kBlock * 8).ok());
  const auto before = AllFiles(store);
  for (const Status& status : {WriteCheckpoint(store, {}, MakeState(12, 300)),
                               CheckWritable(store, MakeState(12, 300).job, 12)}) {
    EXPECT_EQ(status.code(), StatusCode::kConflict) << status.ToString();
  }
  EXPECT_EQ(AllFiles(store), before);
}

// A job is killed anywhere in its first checkpoint; then the same command runs again as another
// job.
TEST(Aside, AKillInsideTheFirstCheckpointDoesNotBlockTheNextJob) {
  CheckpointState other = MakeState(5, 300, 1);
  other.job = 99;
  int went_on = 0;
  int refused = 0;
  bool killed = true;
  for (uint64_t operation = 0; killed; ++operation) {
    SimStore store(operation);
    store.faults.cut_power_after = operation;
    killed = !WriteCheckpoint(store, {}, MakeState(10, 300)).ok();
    store.Restart();
    const bool restorable = ReadCheckpoint(store).ok();
    std::map<std::string, Bytes> before = AllFiles(store);
    WrittenCheckpoint written;
    const Status belongs = CheckWritable(store, other.job, 20);
    const Status status = WriteCheckpoint(store, {}, other, {}, &written);
    if (restorable) {
      ASSERT_EQ(status.code(), StatusCode::kConflict) << operation;
      ASSERT_EQ(belongs.code(), StatusCode::kConflict) << operation;
      ASSERT_EQ(AllFiles(store), before);
      ++refused;
      continue;
    }
    ASSERT_TRUE(belongs.ok()) << operation << ": " << belongs.ToString();
    ASSERT_TRUE(status.ok()) << operation << ": " << status.ToString();
    ASSERT_TRUE(Same(*ReadCheckpoint(store), other));
    std::erase_if(before, [](const auto& file) {
      return file.first.ends_with(".tmp") || file.first.ends_with(kWritingMarkSuffix);
    });
    ASSERT_EQ(Aside(store, before, 10), static_cast<int>(before.size()));
    ASSERT_EQ(written.notes.empty(), before.empty());
    went_on += before.empty() ? 0 : 1;
  }
  EXPECT_GE(went_on, 3);  // With one, two and three of the four shards that are needed.
  EXPECT_GE(refused, 2);
}

TEST(Aside, AnUnfinishedCheckpointOfAnotherJobIsMovedEvenBelowOnesOwn) {
  SimStore store(1);
  Write(store, MakeState(20, 300));
  SimStore there(2);
  CheckpointState other = MakeState(10, 300);
  other.job = 99;
  ASSERT_TRUE(WriteCheckpoint(there, {}, other).ok());
  Put(store, ShardPath(1, 10), Contents(there, ShardPath(1, 10)));
  const auto before = AllFiles(store);
  Write(store, MakeState(30, 300));
  EXPECT_EQ(Aside(store, before, 10), 1);
}

TEST(SameStep, OtherContentIsRefusedByName) {
  SimStore store(1);
  Write(store, MakeState(20, 20));
  const auto before = AllFiles(store);
  Write(store, MakeState(20, 20));
  EXPECT_EQ(AllFiles(store), before);
  const Status status = WriteCheckpoint(store, {}, MakeState(20, 20, 1));
  EXPECT_EQ(status.code(), StatusCode::kConflict);
  EXPECT_NE(status.ToString().find("other content"), std::string::npos) << status.ToString();
  EXPECT_EQ(AllFiles(store), before);
}

TEST(Writers, OneAtATime) {
  SimStore store(1);
  Write(store, MakeState(20, 20));
  store.RemoveFolder("node-01");
  store.faults.locked_elsewhere = true;
  const auto before = AllFiles(store);
  for (const Status& status :
       {WriteCheckpoint(store, {}, MakeState(30, 20)), RepairCheckpoint(store).status(),
        CheckWritable(store, MakeState(30, 20).job, 20)}) {
    EXPECT_EQ(status.code(), StatusCode::kConflict);
    EXPECT_NE(status.ToString().find("another program is writing"), std::string::npos);
  }
  EXPECT_EQ(AllFiles(store), before);
  EXPECT_TRUE(ReadCheckpoint(store).ok());  // Readers do not check that.
  EXPECT_TRUE(VerifyCheckpoint(store).ok());
}

TEST(Writable, ANewerProgramsFolderIsRefusedAtTheStart) {
  SimStore store(1);
  Write(store, MakeState(5, 50));
  for (uint32_t shard = 0; shard < 6; ++shard) {
    Bytes file = Contents(store, ShardPath(shard, 5));
    file[8] = std::byte{2};  // The version.
    const uint64_t sum = Hash64(BytesView(file).first(kHeaderBytes - 8));
    std::copy_n(std::as_bytes(std::span(&sum, 1)).begin(), 8, file.begin() + kHeaderBytes - 8);
    Put(store, ShardPath(shard, 5), file);
  }
  for (const uint64_t job : {uint64_t{0}, MakeState(5, 50).job}) {
    const Status status = CheckWritable(store, job, 20);
    EXPECT_EQ(status.code(), StatusCode::kConflict);
    EXPECT_NE(status.ToString().find("format version 2"), std::string::npos) << status.ToString();
  }
}

TEST(Writable, OnlyForTheFoldersOwnJob) {
  SimStore store(1);
  EXPECT_TRUE(CheckWritable(store, 0, 20).ok());
  Write(store, MakeState(5, 50));
  EXPECT_TRUE(CheckWritable(store, MakeState(5, 50).job, 20).ok());
  for (const uint64_t job : {0, 99}) {
    const Status status = CheckWritable(store, job, 20);
    EXPECT_EQ(status.code(), StatusCode::kConflict);
    EXPECT_NE(status.ToString().find("another job"), std::string::npos) << status.ToString();
  }
}

}  // namespace
}  // namespace motley
