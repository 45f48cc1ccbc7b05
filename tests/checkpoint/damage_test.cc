// SPDX-License-Identifier: Apache-2.0
// Every kind of damage is found, tolerated up to m blocks per stripe, and named beyond that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "checkpoint/shard_format.h"
#include "checkpoint_rig.h"

namespace motley {
namespace {

constexpr uint64_t kStep = 5;

std::string PathOf(uint32_t shard) { return ShardPath(shard, kStep); }

void Write(SimStore& store, const CheckpointState& state, const CheckpointCode& code = {}) {
  const Status status = WriteCheckpoint(store, code, state);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

TEST(Damage, EveryByteOfAShardIsWatched) {
  SimStore store(1);
  const CheckpointState state = MakeState(kStep, 60, 1);
  Write(store, state);
  const auto files = AllFiles(store);
  const uint64_t size = *store.Size(PathOf(2));
  for (uint64_t byte = 0; byte < size; ++byte) {
    ASSERT_TRUE(store.FlipBit(PathOf(2), byte * 8 + byte % 8).ok());
    const auto report = VerifyCheckpoint(store);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    ASSERT_FALSE(report->shards[2].healthy()) << byte;
    ASSERT_TRUE(report->restorable()) << byte;
    const auto read = ReadCheckpoint(store);
    ASSERT_TRUE(read.ok() && Same(*read, state)) << byte;
    ASSERT_TRUE(store.FlipBit(PathOf(2), byte * 8 + byte % 8).ok());
  }
  EXPECT_TRUE(VerifyCheckpoint(store)->healthy());
  EXPECT_EQ(AllFiles(store), files);
}

// A file system that lost data shows zeros. They may cover a block, a block and its checksum, the
// checksum alone, a page, or the rest of the file.
TEST(Damage, ZerosInThePlaceOfABlockAreNotTakenForOne) {
  SimStore store(1);
  const CheckpointState state = MakeState(kStep, 60'000, 1);
  Write(store, state);
  const Bytes whole = Contents(store, PathOf(2));
  const ShardLayout layout(*ParseHeader(Contents(store, PathOf(0))));
  const uint64_t begin = layout.BlockOffset(0);
  const uint64_t block = layout.BlockBytes(0);
  struct Hole {
    uint64_t begin, size;
  };
  for (const Hole& hole :
       {Hole{begin, block}, Hole{begin, block + kChecksumBytes},
        Hole{begin + block, kChecksumBytes}, Hole{begin, 4096},
        Hole{begin + 4096, whole.size() - begin - 4096}, Hole{begin, whole.size() - begin}}) {
    SCOPED_TRACE(fmt::format("{} zeros from byte {} on", hole.size, hole.begin));
    ASSERT_LE(hole.begin + hole.size, whole.size());
    Bytes holed = whole;
    std::fill_n(holed.begin() + static_cast<ptrdiff_t>(hole.begin), hole.size, std::byte{0});
    Put(store, PathOf(2), holed);
    const auto report = VerifyCheckpoint(store);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_FALSE(report->shards[2].healthy());
    EXPECT_TRUE(report->restorable());
    const auto read = ReadCheckpoint(store);
    ASSERT_TRUE(read.ok() && Same(*read, state));
  }
  Put(store, PathOf(2), whole);
  EXPECT_TRUE(VerifyCheckpoint(store)->healthy());
}

// Every shard is damaged, but in every stripe at most m blocks.
TEST(Damage, TwoBlocksOfEveryStripeMayBeBad) {
  SimStore store(1);
  const CheckpointState state = MakeState(kStep, 2'500'000, 0);  // Three stripes of 4 x 1 MiB.
  Write(store, state);
  const ShardLayout layout(*ParseHeader(Contents(store, PathOf(0))));
  ASSERT_EQ(layout.stripes(), 3u);
  for (uint64_t stripe = 0; stripe < 3; ++stripe) {
    for (const uint64_t shard : {2 * stripe, 2 * stripe + 1}) {
      const uint64_t bit = (layout.BlockOffset(stripe) + 1000) * 8;
      ASSERT_TRUE(store.FlipBit(PathOf(static_cast<uint32_t>(shard)), bit).ok());
    }
  }
  const auto report = VerifyCheckpoint(store);
  ASSERT_TRUE(report.ok());
  for (const ShardReport& shard : report->shards) {
    EXPECT_EQ(shard.damaged_blocks, (std::vector<uint64_t>{shard.shard / 2}));
  }
  EXPECT_TRUE(report->restorable());
  EXPECT_TRUE(Same(*ReadCheckpoint(store), state));

  const uint64_t bit = (layout.BlockOffset(1) + 5) * 8;
  ASSERT_TRUE(store.FlipBit(PathOf(5), bit).ok());  // A third block of stripe 1.
  const auto read = ReadCheckpoint(store);
  ASSERT_EQ(read.code(), StatusCode::kNotDecodable);
  const std::string text = read.status().ToString();
  EXPECT_NE(text.find("shard 5 (disk:/node-05/step-000000000005.shard): 2 of 3 blocks damaged: "
                      "1-2"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("more than 2 blocks are lost in 1 of 3 stripes: 1"), std::string::npos)
      << text;
  const auto files = AllFiles(store);
  EXPECT_EQ(RepairCheckpoint(store).code(), StatusCode::kNotDecodable);
  EXPECT_EQ(AllFiles(store), files);
}

TEST(Damage, OneReadableHeaderIsEnough) {
  SimStore store(1);
  const CheckpointState state = MakeState(kStep, 500);
  Write(store, state);
  for (uint32_t shard = 0; shard < 5; ++shard) ASSERT_TRUE(store.FlipBit(PathOf(shard), 999).ok());
  EXPECT_TRUE(Same(*ReadCheckpoint(store), state));
  ASSERT_TRUE(RepairCheckpoint(store).ok());
  EXPECT_TRUE(VerifyCheckpoint(store)->healthy());
  for (uint32_t shard = 0; shard < 6; ++shard) ASSERT_TRUE(store.FlipBit(PathOf(shard), 999).ok());
  const auto read = ReadCheckpoint(store);
  EXPECT_EQ(read.code(), StatusCode::kNotFound);
  EXPECT_NE(read.status().ToString().find("no header can be read in the files of steps 5"),
            std::string::npos)
      << read.status().ToString();
}

TEST(Damage, TruncatedAndLengthenedFilesAreNoticed) {
  SimStore store(1);
  const CheckpointState state = MakeState(kStep, 500);
  Write(store, state);
  const Bytes whole = Contents(store, PathOf(0));
  for (const size_t size : {0ul, 1ul, kHeaderBytes - 1, kHeaderBytes, whole.size() / 2,
                            whole.size() - 1, whole.size() + 1}) {
    Bytes other = whole;
    other.resize(size);
    Put(store, PathOf(0), other);
    const auto report = VerifyCheckpoint(store);
    ASSERT_TRUE(report.ok());
    EXPECT_NE(report->shards[0].problem.find(fmt::format("has {} bytes instead of", size)),
              std::string::npos)
        << report->shards[0].problem;
    ASSERT_TRUE(Same(*ReadCheckpoint(store), state)) << size;
  }
}

TEST(Damage, ExchangedShardsAreNamed) {
  SimStore store(1);
  const CheckpointState state = MakeState(kStep, 500);
  Write(store, state);
  const Bytes one = Contents(store, PathOf(1));
  const Bytes four = Contents(store, PathOf(4));
  Put(store, PathOf(1), four);
  Put(store, PathOf(4), one);
  EXPECT_EQ(VerifyCheckpoint(store)->shards[1].problem,
            "is shard 4, which belongs in disk:/node-04");
  EXPECT_TRUE(Same(*ReadCheckpoint(store), state));
  ASSERT_TRUE(RepairCheckpoint(store).ok());
  EXPECT_EQ(Contents(store, PathOf(1)), one);
  EXPECT_EQ(Contents(store, PathOf(4)), four);
}

// Two checkpoints of one step have three shards each. Neither can be restored, nor a mixture.
TEST(Damage, ShardsOfDifferentCheckpointsAreNeverCombined) {
  SimStore store(1);
  SimStore other(2);
  Write(store, MakeState(kStep, 500, 0));
  Write(other, MakeState(kStep, 500, 3));  // The sizes are the same.
  for (uint32_t shard = 0; shard < 3; ++shard) {
    Put(store, PathOf(shard), Contents(other, PathOf(shard)));
  }
  const auto read = ReadCheckpoint(store);
  EXPECT_EQ(read.code(), StatusCode::kNotDecodable);
  EXPECT_NE(read.status().ToString().find("is of another checkpoint of this step"),
            std::string::npos)
      << read.status().ToString();
  Put(store, PathOf(3), Contents(other, PathOf(3)));
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(kStep, 500, 3)));
}

// Even with damaged headers, blocks must not be taken for another checkpoint's.
TEST(Damage, BlocksNameTheirCheckpoint) {
  SimStore store(1);
  SimStore other(2);
  Write(store, MakeState(kStep, 500, 0));
  Write(other, MakeState(kStep, 500, 3));
  for (uint32_t shard = 0; shard < 3; ++shard) {
    Bytes file = Contents(other, PathOf(shard));
    file[100] ^= std::byte{1};
    Put(store, PathOf(shard), file);
  }
  EXPECT_EQ(ReadCheckpoint(store).code(), StatusCode::kNotDecodable);
}

// Only the user's explicit choice gives up steps that were done.
TEST(Damage, AnOlderCheckpointStepsInOnlyWhenAskedFor) {
  SimStore store(1);
  Write(store, MakeState(3, 500));
  Write(store, MakeState(4, 500));
  Write(store, MakeState(kStep, 500));
  for (uint32_t shard = 0; shard < 3; ++shard) {
    ASSERT_TRUE(store.FlipBit(PathOf(shard), (kHeaderBytes + 10) * 8).ok());
  }
  const auto read = ReadCheckpoint(store);
  EXPECT_EQ(read.code(), StatusCode::kNotDecodable);
  const std::string text = read.status().ToString();
  for (const char* part :
       {"shard 0 (disk:/node-00/step-000000000005.shard): 1 of 1 blocks damaged", "shard 1",
        "shard 2", "step 5 (4+2): cannot be restored", "`resume` disk:/ `resume_step` 4"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  const auto older = ReadCheckpoint(store, 4);
  ASSERT_TRUE(older.ok()) << "the one before was kept: " << older.status().ToString();
  EXPECT_TRUE(Same(*older, MakeState(4, 500)));
  EXPECT_EQ(ReadCheckpoint(store, kStep).code(), StatusCode::kNotDecodable);
  for (uint32_t shard = 0; shard < 3; ++shard) store.RemoveFolder(ShardFolder(shard));
  const std::string none = ReadCheckpoint(store).status().ToString();
  EXPECT_EQ(none.find("`resume_step`"), std::string::npos) << none;
}

// The remains of an interrupted write never counted as the newest checkpoint.
TEST(Damage, AnUnfinishedCheckpointIsPassedOverAndSaid) {
  SimStore store(1);
  Write(store, MakeState(4, 500));
  Write(store, MakeState(kStep, 500));
  for (const uint32_t shard : {1u, 3u, 5u}) ASSERT_TRUE(store.Remove(PathOf(shard)).ok());
  for (const uint32_t shard : {0u, 2u, 4u}) Put(store, WritingMarkPath(shard, kStep), {});
  std::vector<std::string> notes;
  const auto read = ReadCheckpoint(store, {}, &notes);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_TRUE(Same(*read, MakeState(4, 500)));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("passed over: step 5 (4+2): cannot be restored: ")) << notes[0];
  EXPECT_NE(notes[0].find(": 0; shard 1 ("), std::string::npos) << notes[0];
}

// A step without any readable header must not be skipped silently either.
TEST(Damage, AStepWithoutAReadableHeaderIsNotPassedOver) {
  SimStore store(1);
  Write(store, MakeState(4, 500));
  Write(store, MakeState(kStep, 500));
  for (uint32_t shard = 0; shard < 6; ++shard) {
    ASSERT_TRUE(store.FlipBit(PathOf(shard), 999).ok());
  }
  const std::string text = ReadCheckpoint(store).status().ToString();
  EXPECT_NE(text.find("checkpoint of step 5: no header of its files can be read"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("`resume` disk:/ `resume_step` 4"), std::string::npos) << text;
  for (uint32_t shard = 0; shard < 6; ++shard) Put(store, WritingMarkPath(shard, kStep), {});
  EXPECT_TRUE(Same(*ReadCheckpoint(store), MakeState(4, 500)));
}

void SealHeader(Bytes& file) {
  const uint64_t sum = Hash64(BytesView(file).first(kHeaderBytes - 8));
  std::memcpy(file.data() + kHeaderBytes - 8, &sum, sizeof(sum));
}

TEST(Damage, ANewerFormatIsRefusedAndNotPassedOver) {
  SimStore store(1);
  Write(store, MakeState(4, 50));
  Write(store, MakeState(kStep, 50));
  Bytes file = Contents(store, PathOf(0));
  file[8] = std::byte{2};  // The version.
  SealHeader(file);
  Put(store, PathOf(0), file);
  const auto read = ReadCheckpoint(store);
  EXPECT_EQ(read.code(), StatusCode::kConflict);
  EXPECT_NE(read.status().ToString().find("it has format version 2, this program reads version 1"),
            std::string::npos)
      << read.status().ToString();
  EXPECT_EQ(WriteCheckpoint(store, {}, MakeState(6, 50)).code(), StatusCode::kConflict);
}

// All checksums are right, also in a header, but the id still shows that this is no checkpoint.
TEST(Damage, TheIdIsOverEverything) {
  SimStore store(1);
  Write(store, MakeState(kStep, 50));
  const auto files = AllFiles(store);
  for (const auto& [path, whole] : files) {
    Bytes file = whole;
    file[48] ^= std::byte{1};  // The seed.
    SealHeader(file);
    Put(store, path, file);
  }
  for (const Status& status : {ReadCheckpoint(store).status(), VerifyCheckpoint(store).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kDataError);
    EXPECT_NE(status.ToString().find("do not belong together"), std::string::npos)
        << status.ToString();
  }
}

// Headers with right checksums and wrong content cause no crash and no huge allocation.
TEST(Damage, LyingHeadersAreSurvived) {
  SimStore store(1);
  const CheckpointState state = MakeState(kStep, 50, 1);
  Write(store, state);
  const auto files = AllFiles(store);
  Random random(11, Stream::kTest);
  for (int trial = 0; trial < 3000; ++trial) {
    const size_t at = 8 + random.Below(124);
    const auto value = static_cast<std::byte>(random.Below(256));
    for (const auto& [path, whole] : files) {
      Bytes file = whole;
      file[at] = value;
      SealHeader(file);
      Put(store, path, file);
    }
    const auto read = ReadCheckpoint(store);
    ASSERT_TRUE(!read.ok() || Same(*read, state)) << at;
    (void)VerifyCheckpoint(store);
    (void)ListCheckpoints(store);
  }
}

}  // namespace
}  // namespace motley
