// SPDX-License-Identifier: Apache-2.0
// Checkpoints allocate a few stripes besides the state, whatever the model's size. Every allocation
// of this program is counted. The files are on a real disk and take no memory.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/store/file_store.h"
#include "checkpoint_rig.h"
#include "tests/conformance/counted_memory.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr size_t kParameters = 16 << 20;  // 64 MiB.
constexpr size_t kModelBytes = kParameters * sizeof(float);
constexpr size_t kStripeBytes = 6 << 20;  // 4 + 2 blocks of 1 MiB.
// A stripe, its recomputed parity, and a list of damaged blocks.
constexpr size_t kFewStripes = 3 * kStripeBytes;

// Peak of allocated memory during `work`, minus the memory allocated before it.
template <typename Work>
size_t PeakOf(const Work& work) {
  const size_t before = AllocatedBytes();
  ResetMostAllocated();
  work();
  return MostAllocatedBytes() - before;
}

class CheckpointMemory : public testing::Test {
 protected:
  CheckpointMemory() {
    std::string pattern = (fs::temp_directory_path() / "motley_memory_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    store_ = std::move(OpenFileStore(folder_, MissingFolder::kRefuse)).value();
    state_ = MakeState(7, kParameters);
  }
  ~CheckpointMemory() override { fs::remove_all(folder_); }

  std::string folder_;
  std::unique_ptr<Store> store_;
  CheckpointState state_;
};

TEST_F(CheckpointMemory, WritingVerifyingAndRepairingTakeAFewStripes) {
  const size_t writing = PeakOf([&] {
    const Status status = WriteCheckpoint(*store_, {}, state_);
    EXPECT_TRUE(status.ok()) << status.ToString();
  });
  EXPECT_LE(writing, kFewStripes);
  EXPECT_GE(writing, kStripeBytes) << "it was counted at all";
  const size_t again = PeakOf([&] { EXPECT_TRUE(WriteCheckpoint(*store_, {}, state_).ok()); });
  EXPECT_LE(again, kFewStripes);
  const size_t verifying = PeakOf([&] { EXPECT_TRUE(VerifyCheckpoint(*store_)->healthy()); });
  EXPECT_LE(verifying, kFewStripes);
  fs::remove_all(fs::path(folder_) / "node-01");
  fs::remove_all(fs::path(folder_) / "node-05");
  const size_t repairing = PeakOf([&] { EXPECT_TRUE(RepairCheckpoint(*store_).ok()); });
  EXPECT_LE(repairing, kFewStripes);
  EXPECT_TRUE(VerifyCheckpoint(*store_)->healthy());
}

TEST_F(CheckpointMemory, RestoringTakesTheStateAndAFewStripes) {
  ASSERT_TRUE(WriteCheckpoint(*store_, {}, state_).ok());
  for (const char* lost : {"node-00", "node-03"}) {  // Data must then be rebuilt.
    const size_t restoring =
        PeakOf([&] { EXPECT_TRUE(Same(*ReadCheckpoint(*store_), state_)) << lost; });
    EXPECT_LE(restoring, kModelBytes + kFewStripes) << lost;
    EXPECT_GE(restoring, kModelBytes) << lost;
    fs::remove_all(fs::path(folder_) / lost);
  }
}

}  // namespace
}  // namespace motley
