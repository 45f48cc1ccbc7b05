// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/random.h"
#include "checkpoint/shard_format.h"
#include "checkpoint_rig.h"

namespace motley {
namespace {

constexpr uint64_t kStep = 7;

// Damages `shard` in a random way.
void Damage(SimStore& store, uint32_t shard, Random& random) {
  const std::string path = ShardPath(shard, kStep);
  const uint64_t size = *store.Size(path);
  const uint64_t kind = random.Below(4);
  if (kind == 0) store.RemoveFolder(ShardFolder(shard));
  if (kind == 1) (void)store.Remove(path);
  if (kind == 2) (void)store.Truncate(path, random.Below(size));
  if (kind == 3) {
    const uint64_t flips = 1 + random.Below(20);
    for (uint64_t i = 0; i < flips; ++i) {
      ASSERT_TRUE(store.FlipBit(path, random.Below(size * 8)).ok());
    }
  }
}

TEST(Repair, UpToMShardsBecomeWhatTheyWere) {
  int damaged = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed, Stream::kTest);
    SimStore store(seed);
    const CheckpointCode code{static_cast<uint32_t>(1 + random.Below(5)),
                              static_cast<uint32_t>(random.Below(4)), ErasureTechnique::kCauchy};
    ASSERT_TRUE(WriteCheckpoint(store, code, MakeState(kStep, random.Below(2000), seed)).ok());
    const auto files = AllFiles(store);
    std::vector<uint32_t> shards(code.data + code.parity);
    for (uint32_t i = 0; i < shards.size(); ++i) shards[i] = i;
    random.Shuffle(std::span<uint32_t>(shards));
    const auto count = random.Below(code.parity + 1);
    for (uint64_t i = 0; i < count; ++i) Damage(store, shards[i], random);
    damaged += AllFiles(store) != files ? 1 : 0;
    const auto repaired = RepairCheckpoint(store);
    ASSERT_TRUE(repaired.ok()) << seed << ": " << repaired.status().ToString();
    ASSERT_EQ(AllFiles(store), files) << seed;
  }
  EXPECT_GT(damaged, 100);
}

TEST(Repair, ReportsWhatWasWrong) {
  SimStore store(1);
  ASSERT_TRUE(WriteCheckpoint(store, {}, MakeState(kStep, 100)).ok());
  EXPECT_EQ(RepairCheckpoint(store)->ToText(), "step 7 (4+2): every shard is right\n");
  store.RemoveFolder("node-02");
  const auto report = RepairCheckpoint(store);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->ToText(),
            "step 7 (4+2): can be restored exactly and survives 1 more loss; motley checkpoint "
            "restore rebuilds the shards\n"
            "shard 2 (disk:/node-02/step-000000000007.shard): missing\n");
}

TEST(Repair, AFolderThatFailsStopsNoOther) {
  SimStore store(1);
  ASSERT_TRUE(WriteCheckpoint(store, {}, MakeState(kStep, 100)).ok());
  const auto files = AllFiles(store);
  store.RemoveFolder("node-02");
  ASSERT_TRUE(store.Remove(ShardPath(4, kStep)).ok());
  store.faults.unwritable = "node-02";
  const std::string text = RepairCheckpoint(store).status().ToString();
  EXPECT_NE(text.find("1 of 2 shards rebuilt, not shard 2 (disk:/node-02/step-000000000007.shard)"),
            std::string::npos)
      << text;
  EXPECT_EQ(Contents(store, ShardPath(4, kStep)), files.at(ShardPath(4, kStep)));
  EXPECT_EQ(VerifyCheckpoint(store)->survives, 1u);
  store.faults.unwritable = "";
  ASSERT_TRUE(RepairCheckpoint(store).ok());
  EXPECT_EQ(AllFiles(store), files);
}

TEST(Repair, NothingToSaveHasShardsAllTheSame) {
  SimStore store(1);
  CheckpointState state = MakeState(kStep, 0);
  state.description = "";
  ASSERT_TRUE(WriteCheckpoint(store, {}, state).ok());
  EXPECT_EQ(VerifyCheckpoint(store)->survives, 2u);
  store.RemoveFolder("node-02");
  EXPECT_EQ(VerifyCheckpoint(store)->survives, 1u);
  ASSERT_TRUE(RepairCheckpoint(store).ok());
  EXPECT_EQ(VerifyCheckpoint(store)->survives, 2u);
}

// The repair may be interrupted at any moment: the checkpoint survives and can be repaired again.
TEST(Repair, MayBeCutShortAnywhere) {
  const CheckpointState state = MakeState(kStep, 300);
  int cuts = 0;
  for (uint64_t operation = 0; operation < 40; ++operation) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      SimStore store(seed);
      ASSERT_TRUE(WriteCheckpoint(store, {}, state).ok());
      const auto files = AllFiles(store);
      store.RemoveFolder("node-01");
      ASSERT_TRUE(store.FlipBit(ShardPath(4, kStep), 5000).ok());
      store.faults.cut_power_after = operation;
      cuts += RepairCheckpoint(store).ok() ? 0 : 1;
      store.PowerOn();
      const auto read = ReadCheckpoint(store);
      ASSERT_TRUE(read.ok() && Same(*read, state)) << operation << " " << seed;
      ASSERT_TRUE(RepairCheckpoint(store).ok());
      ASSERT_TRUE(VerifyCheckpoint(store)->healthy());
    }
  }
  EXPECT_GT(cuts, 50);
  EXPECT_LT(cuts, 400);
}

}  // namespace
}  // namespace motley
