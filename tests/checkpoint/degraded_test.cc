// SPDX-License-Identifier: Apache-2.0
// Checkpoints without all of their shards: at most as many as the code can spare are left out, the
// result says so, and no stronger checkpoint is deleted for them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "checkpoint/shard_format.h"
#include "checkpoint_rig.h"

namespace motley {
namespace {

WrittenCheckpoint Write(SimStore& store, uint64_t step, const CheckpointKeep& keep = {},
                        const CheckpointCode& code = {}) {
  WrittenCheckpoint written;
  const Status status = WriteCheckpoint(store, code, MakeState(step, 300), keep, &written);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return written;
}

std::vector<uint64_t> Steps(SimStore& store) {
  std::vector<uint64_t> steps;
  const auto list = ListCheckpoints(store);
  EXPECT_TRUE(list.ok());
  for (const CheckpointInfo& info : *list) steps.push_back(info.step);
  return steps;
}

// Puts a file in place of a folder.
void PutFile(SimStore& store, const std::string& path) {
  Put(store, path, std::as_bytes(std::span("no folder")));
}

using Numbers = std::vector<uint64_t>;

TEST(Degraded, ABrokenFolderIsLeftOutAndNamed) {
  SimStore store(1);
  EXPECT_TRUE(Write(store, 10).left_out.empty());
  store.faults.unwritable = "node-02";
  const WrittenCheckpoint written = Write(store, 20);
  ASSERT_EQ(written.left_out.size(), 1u);
  EXPECT_EQ(written.left_out[0].shard, 2u);
  EXPECT_EQ(written.left_out[0].folder, "disk:/node-02");
  EXPECT_NE(written.left_out[0].why.ToString().find("simulated input/output error"),
            std::string::npos);
  EXPECT_EQ(written.survives, 1u);
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(20, 300)));
  EXPECT_EQ(ListCheckpoints(store)->front().survives, 1u);
  EXPECT_EQ(VerifyCheckpoint(store)->survives, 1u);
  store.RemoveFolder("node-05");  // It survives one more loss.
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(20, 300)));
  store.faults.unwritable = "";
  EXPECT_TRUE(Write(store, 30).left_out.empty());
  EXPECT_TRUE(VerifyCheckpoint(store)->healthy());
}

TEST(Degraded, ShardsThatWereCutShortAreNotThere) {
  SimStore store(1);
  Write(store, 10);
  for (const uint32_t shard : {0, 3, 5}) {
    const std::string path = ShardPath(shard, 10);
    const Bytes bytes = Contents(store, path);
    Put(store, path, BytesView(bytes).first(100));
    const CheckpointInfo info = ListCheckpoints(store)->front();
    EXPECT_EQ(info.restorable, shard != 5) << shard;
    EXPECT_EQ(info.restorable, VerifyCheckpoint(store)->restorable()) << shard;
    EXPECT_EQ(info.survives, VerifyCheckpoint(store)->survives) << shard;
  }
  EXPECT_EQ(ListCheckpoints(store)->front().missing_shards, (std::vector<uint32_t>{0, 3, 5}));
}

TEST(Degraded, AFileInTheFoldersPlaceIsABrokenFolder) {
  SimStore store(1);
  PutFile(store, "node-04");
  const WrittenCheckpoint written = Write(store, 10);
  ASSERT_EQ(written.left_out.size(), 1u);
  EXPECT_NE(written.left_out[0].why.ToString().find("a file is there"), std::string::npos);
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(10, 300)));
}

// With fewer than k shards there is no checkpoint.
TEST(Degraded, MoreThanCanBeSparedIsAnErrorThatTakesNothing) {
  SimStore store(1);
  Write(store, 10);
  for (const uint32_t shard : {0, 3}) {
    store.RemoveFolder(ShardFolder(shard));
    PutFile(store, ShardFolder(shard));
  }
  EXPECT_EQ(Write(store, 20).survives, 0u);
  const auto before = AllFiles(store);
  store.faults.unwritable = "node-05";
  const Status status = WriteCheckpoint(store, {}, MakeState(30, 300));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.ToString().find("3 of 6 shards failed, and 2 can be left out at most"),
            std::string::npos)
      << status.ToString();
  EXPECT_EQ(AllFiles(store), before);
}

// Any single operation may fail. The checkpoint is acknowledged without at most one shard, and it
// survives as many losses as reported, also after a power cut.
TEST(Degraded, EachSingleFailureIsSurvivedAsItIsSaid) {
  uint64_t degraded = 0;
  bool reached = true;
  for (uint64_t operation = 0; reached; ++operation) {
    SimStore store(operation);
    Write(store, 10, {.newest = 1});
    const uint64_t before = store.operations();
    store.faults.fail_operation_after = operation;
    WrittenCheckpoint written;
    const Status status = WriteCheckpoint(store, {}, MakeState(20, 300), {.newest = 1}, &written);
    reached = store.operations() > before + operation;
    store.PowerOn();
    if (!status.ok()) {  // The names in the root matter to all shards.
      ASSERT_NE(status.ToString().find("cannot sync disk:/:"), std::string::npos)
          << status.ToString();
      continue;
    }
    ASSERT_LE(written.left_out.size(), 1u);
    degraded += written.left_out.size();
    uint32_t lost = 0;
    for (uint32_t shard = 0; shard < 6 && lost < written.survives; ++shard) {
      const bool out = !written.left_out.empty() && written.left_out[0].shard == shard;
      if (!out) store.RemoveFolder(ShardFolder(shard));
      lost += out ? 0 : 1;
    }
    ASSERT_TRUE(Same(*ReadCheckpoint(store), MakeState(20, 300))) << operation;
  }
  EXPECT_GT(degraded, 30u);
}

TEST(Degraded, AStrongerOlderOneStaysUntilThereIsAsStrongANewerOne) {
  SimStore store(1);
  Write(store, 10);
  Write(store, 20);
  store.faults.unwritable = "node-01";
  for (const uint64_t step : {30, 40, 50}) Write(store, step);
  EXPECT_EQ(Steps(store), (Numbers{50, 40, 20, 10}))
      << "what lies in a broken folder could not be removed";
  EXPECT_EQ(VerifyCheckpoint(store, 20)->survives, 2u);
  store.faults.unwritable = "";
  Write(store, 60);
  EXPECT_EQ(Steps(store), (Numbers{60, 50}));
}

// A disk was full for a while. Each of 20, 30 and 40 is stronger than all newer ones, so all three
// stay. The free space is half of what a whole checkpoint needs.
TEST(Degraded, OlderOnesMakeRoomOnAFullDisk) {
  SimStore store(1);
  Write(store, 20);
  const uint64_t whole = store.stored_bytes();
  store.faults.capacity = whole + whole * 9 / 10;
  ASSERT_EQ(Write(store, 30).survives, 1u);
  store.faults.capacity = store.stored_bytes() + whole * 7 / 10;
  ASSERT_EQ(Write(store, 40).survives, 0u);
  store.faults.capacity = 3 * whole;
  const WrittenCheckpoint written = Write(store, 50);
  EXPECT_EQ(written.survives, 2u);
  ASSERT_EQ(written.notes.size(), 1u);
  EXPECT_EQ(written.notes[0],
            "deleted the older checkpoint of step 30 to free space for the one of step 50");
  EXPECT_EQ(Steps(store), (Numbers{50, 40}));
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(50, 300)));
}

// A weaker checkpoint is deleted only after the stronger one was read, because headers do not show
// rot.
TEST(Degraded, NothingGoesForTheSakeOfWhatHasRotted) {
  SimStore store(1);
  Write(store, 10);
  Write(store, 20);
  for (uint32_t shard = 0; shard < 3; ++shard) {
    ASSERT_TRUE(store.FlipBit(ShardPath(shard, 20), (kHeaderBytes + 10) * 8).ok());
  }
  store.faults.fail_operation_after = 8;  // One folder fails once, so it is left out.
  ASSERT_EQ(Write(store, 30).left_out.size(), 1u);
  EXPECT_EQ(Steps(store), (Numbers{30, 20, 10}));
  EXPECT_TRUE(Same(*ReadCheckpoint(store, 10), MakeState(10, 300)));
}

// It survives no more losses. When one happens all the same, it is not skipped silently.
TEST(Degraded, OneThatIsLostAfterAllIsNotPassedOver) {
  const CheckpointCode code{2, 1};
  SimStore store(1);
  Write(store, 10, {}, code);
  store.faults.unwritable = "node-02";
  ASSERT_EQ(Write(store, 20, {}, code).survives, 0u);
  store.faults.unwritable = "";
  store.RemoveFolder("node-01");
  const auto read = ReadCheckpoint(store);
  ASSERT_EQ(read.code(), StatusCode::kNotDecodable);
  const std::string text = read.status().ToString();
  for (const char* part :
       {"step 20 (2+1): cannot be restored", "`resume` disk:/ `resume_step` 10"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_TRUE(Same(*ReadCheckpoint(store, 10), MakeState(10, 300)));
  Write(store, 15, {}, code);  // A job that continued from there is not stopped by it again.
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(15, 300)));
}

// A write is cut or fails for good at each moment. What is there is then reported correctly:
// acknowledged or complete, or unfinished and passed over.
TEST(Degraded, AnUnfinishedOneIsKnownAtEachMoment) {
  for (const uint32_t parity : {0u, 1u}) {
    const CheckpointCode code{2, parity};
    int old_ones = 0;
    bool cut = true;
    for (uint64_t operation = 0; cut; ++operation) {
      for (uint64_t seed = 0; seed < 30; ++seed) {
        SimStore store(seed);
        Write(store, 10, {}, code);
        if (seed % 3 == 0) store.faults.fail_operation_after = operation;
        if (seed % 3 != 0) store.faults.cut_power_after = operation;
        const bool acknowledged = WriteCheckpoint(store, code, MakeState(20, 300)).ok();
        if (seed % 3 == 0) {  // A power cut follows soon.
          store.faults.cut_power_after = seed % 4;
          if (acknowledged) (void)WriteCheckpoint(store, code, MakeState(30, 300));
        } else {
          cut = !store.powered();
        }
        store.PowerOn();
        const auto read = ReadCheckpoint(store);
        ASSERT_TRUE(read.ok()) << operation << " " << seed << ": " << read.status().ToString();
        ASSERT_TRUE(!acknowledged || read->step >= 20) << operation;
        old_ones += read->step == 10 ? 1 : 0;
      }
    }
    EXPECT_GT(old_ones, 100);
  }
}

TEST(Degraded, OnesThatAreEquallyWeakReplaceEachOther) {
  SimStore store(1);
  PutFile(store, "node-04");
  for (const uint64_t step : {10, 20, 30, 40}) Write(store, step, {.newest = 1});
  EXPECT_EQ(Steps(store), (Numbers{40}));
}

// A resumed job saves the step that it got. The checkpoint is acknowledged again, without the
// folder that cannot be repaired.
TEST(Degraded, TheSameCheckpointIsAcknowledgedAgainAsItIs) {
  SimStore store(1);
  Write(store, 10);
  store.RemoveFolder("node-03");
  PutFile(store, "node-03");
  const WrittenCheckpoint written = Write(store, 10);
  ASSERT_EQ(written.left_out.size(), 1u);
  EXPECT_EQ(written.left_out[0].folder, "disk:/node-03");
  EXPECT_EQ(written.survives, 1u);
}

// More of the newest checkpoint than the code tolerates can never be read again.
class UnreadableNewest : public testing::Test {
 protected:
  UnreadableNewest() {
    Write(store_, 10, {}, kCode);
    Write(store_, 20, {}, kCode);
    store_.faults.unreadable = ShardPath(1, 20);
  }
  static constexpr CheckpointCode kCode{4, 0};
  SimStore store_{1};
};

TEST_F(UnreadableNewest, IsNotPassedOverButSaysHowToGoOn) {
  const auto read = ReadCheckpoint(store_);
  EXPECT_EQ(read.code(), StatusCode::kResource);
  const std::string text = read.status().ToString();
  for (const char* part : {"`resume` disk:/ `resume_step` 10", "cannot be read",
                           "shard 1 (disk:/node-01/step-000000000020.shard)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_TRUE(Same(*ReadCheckpoint(store_, 10), MakeState(10, 300)));
}

TEST_F(UnreadableNewest, GoesAsideForTheJobThatGoesOnFromBeforeIt) {
  const Bytes second = Contents(store_, ShardPath(2, 20));
  EXPECT_TRUE(CheckWritable(store_, MakeState(10, 300).job, 10).ok());
  const WrittenCheckpoint written = Write(store_, 15, {}, kCode);
  ASSERT_EQ(written.notes.size(), 1u);
  for (const char* part : {"step 20", "cannot be read", "step-000000000020.shard.orphan-1"}) {
    EXPECT_NE(written.notes[0].find(part), std::string::npos) << written.notes[0];
  }
  EXPECT_TRUE(Same(*ReadCheckpoint(store_), MakeState(15, 300)));
  EXPECT_EQ(Contents(store_, ShardPath(2, 20) + ".orphan-1"), second);
  store_.faults.unreadable = "";
  for (uint32_t shard = 0; shard < 4; ++shard) {  // This follows the note's advice.
    const std::string path = ShardPath(shard, 20);
    ASSERT_TRUE(store_.Rename(path + ".orphan-1", path).ok());
  }
  EXPECT_TRUE(Same(*ReadCheckpoint(store_), MakeState(20, 300)));
}

TEST_F(UnreadableNewest, StopsAnotherJob) {
  CheckpointState other = MakeState(30, 300);
  other.job = 99;
  const auto before = store_.Files();
  EXPECT_FALSE(CheckWritable(store_, other.job, 30).ok());
  EXPECT_FALSE(WriteCheckpoint(store_, kCode, other).ok());
  EXPECT_EQ(store_.Files(), before);
}

// A transient failure moves nothing aside.
TEST(Unreadable, OnceIsNotTwice) {
  bool reached = true;
  for (uint64_t read = 0; reached; ++read) {
    SimStore store(1);
    Write(store, 10);
    Write(store, 20);
    const auto before = AllFiles(store);
    const uint64_t reads = store.reads();
    store.faults.fail_read_after = read;
    const Status status = WriteCheckpoint(store, {}, MakeState(15, 300));
    reached = store.reads() > reads + read;
    store.faults.fail_read_after = uint64_t{1} << 40;
    ASSERT_FALSE(status.ok()) << read;
    ASSERT_EQ(AllFiles(store), before) << read;
  }
}

}  // namespace
}  // namespace motley
