// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "checkpoint_rig.h"
#include "power_cut_run.h"

namespace motley {
namespace {

TEST(PowerCuts, AcknowledgedCheckpointsSurviveTwoThousandSeeds) {
  PowerCutCounts counts;
  for (uint64_t seed = 0; seed < 2000; ++seed) ASSERT_EQ(RunPowerCuts(seed, counts), "");
  EXPECT_GT(counts.acknowledged, 2000u);
  EXPECT_GT(counts.cut_while_writing, 1000u);
  EXPECT_GT(counts.newer_than_acknowledged, 100u);
  EXPECT_GT(counts.failed_operations, 100u);
  EXPECT_GT(counts.degraded, 100u);
  EXPECT_GT(counts.with_damage, 200u);
  EXPECT_GT(counts.killed, 1000u);
}

// The power is cut before each operation of a write that replaces an older checkpoint.
TEST(PowerCuts, EveryMomentOfAWriteIsSafe) {
  const CheckpointState old_state = MakeState(10, 300, 1);
  const CheckpointState new_state = MakeState(20, 300, 2);
  bool acknowledged = false;
  uint64_t operation = 0;
  int restored_new = 0;
  for (; !acknowledged; ++operation) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SimStore store(seed);
      ASSERT_TRUE(WriteCheckpoint(store, {}, old_state, {.newest = 1}).ok());
      store.faults.cut_power_after = operation;
      acknowledged = WriteCheckpoint(store, {}, new_state, {.newest = 1}).ok() && store.powered();
      const bool was_acknowledged = acknowledged;
      store.PowerOn();
      const auto read = ReadCheckpoint(store);
      ASSERT_TRUE(read.ok()) << operation << ": " << read.status().ToString();
      const bool is_new = read->step == 20;
      ASSERT_TRUE(Same(*read, is_new ? new_state : old_state));
      ASSERT_TRUE(is_new || !was_acknowledged);
      restored_new += is_new && !was_acknowledged ? 1 : 0;
    }
  }
  EXPECT_GT(operation, 40u);
  EXPECT_GT(restored_new, 20);
}

// The program is killed at any operation. Its next incarnation finds the files, complete or not,
// and acknowledges them. A power cut must not lose them afterwards.
TEST(PowerCuts, WhatAKilledProgramLeftIsSafeOnceAcknowledged) {
  const CheckpointState state = MakeState(10, 300, 1);
  bool killed = true;
  for (uint64_t operation = 0; killed; ++operation) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SimStore store(seed);
      store.faults.cut_power_after = operation;
      killed = !WriteCheckpoint(store, {}, state).ok();
      store.Restart();
      ASSERT_TRUE(WriteCheckpoint(store, {}, state).ok());
      store.PowerOn();
      const auto read = ReadCheckpoint(store);
      ASSERT_TRUE(read.ok()) << operation << ": " << read.status().ToString();
      ASSERT_TRUE(Same(*read, state));
      ASSERT_TRUE(VerifyCheckpoint(store)->healthy()) << operation;
    }
  }
}

TEST(DiskFull, EveryPointLeavesTheOldOneAndSaysWhy) {
  const CheckpointState old_state = MakeState(10, 200);
  const CheckpointState new_state = MakeState(20, 200);
  uint64_t whole = 0;
  uint64_t refused = 0;
  uint64_t degraded = 0;
  for (uint64_t room = 0; whole == 0; room += 37) {
    SimStore store(1);
    ASSERT_TRUE(WriteCheckpoint(store, {}, old_state).ok());
    const uint64_t before = store.stored_bytes();
    store.faults.capacity = before + room;
    WrittenCheckpoint written;
    const Status status = WriteCheckpoint(store, {}, new_state, {.newest = 1}, &written);
    if (status.ok()) {
      ASSERT_EQ(ReadCheckpoint(store)->step, 20u);
      ASSERT_EQ(ReadCheckpoint(store, 10).ok(), !written.left_out.empty());
      ++(written.left_out.empty() ? whole : degraded);
      continue;
    }
    ++refused;
    ASSERT_EQ(status.code(), StatusCode::kResource) << status.ToString();
    ASSERT_NE(status.ToString().find("checkpoint of step 20: 3 of 6 shards failed, and 2 can be "
                                     "left out at most: cannot write disk:/node-0"),
              std::string::npos)
        << status.ToString();
    ASSERT_NE(status.ToString().find("free some space"), std::string::npos);
    ASSERT_EQ(store.stored_bytes(), before);  // The half-written files are gone.
    ASSERT_TRUE(Same(*ReadCheckpoint(store), old_state));
    store.faults.capacity.reset();
    ASSERT_TRUE(WriteCheckpoint(store, {}, new_state).ok());
    ASSERT_TRUE(Same(*ReadCheckpoint(store), new_state));
  }
  EXPECT_GT(refused, 40u);
  EXPECT_GT(degraded, 20u);
}

TEST(DiskFails, AtEachOperationLeavesTheOldOneOrTheNew) {
  const CheckpointCode code{5, 0};  // The code can spare no shard.
  const CheckpointState old_state = MakeState(10, 200);
  const CheckpointState new_state = MakeState(20, 200);
  uint64_t refused = 0;
  bool written = false;
  for (uint64_t operation = 0; !written; ++operation) {
    SimStore store(operation);
    ASSERT_TRUE(WriteCheckpoint(store, code, old_state).ok());
    store.faults.fail_operation_after = operation;
    const Status status = WriteCheckpoint(store, code, new_state);
    const auto read = ReadCheckpoint(store);
    ASSERT_TRUE(read.ok());
    written = status.ok();
    if (written) break;
    ++refused;
    ASSERT_EQ(status.code(), StatusCode::kResource) << status.ToString();
    ASSERT_NE(status.ToString().find("simulated input/output error"), std::string::npos);
    ASSERT_TRUE(Same(*read, old_state));
    const Status again = WriteCheckpoint(store, code, new_state);
    ASSERT_TRUE(again.ok()) << operation << ": " << again.ToString();
    store.PowerOn();
    ASSERT_TRUE(Same(*ReadCheckpoint(store), new_state));
    ASSERT_TRUE(VerifyCheckpoint(store)->healthy());
  }
  EXPECT_GT(refused, 30u);
}

}  // namespace
}  // namespace motley
