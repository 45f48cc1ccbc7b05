// SPDX-License-Identifier: Apache-2.0
// Checkpoints of format version 1, written by the first program with that format. Every later
// program must read them, and today's still writes the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "checkpoint/store/file_store.h"
#include "checkpoint_rig.h"
#include "test_paths.h"

namespace motley {
namespace {

struct Golden {
  const char* folder;
  const char* code;
  CheckpointState state;
};

// Values that any program can generate again.
CheckpointState StateOf(size_t parameters, size_t optimizer_state) {
  const auto values = [](size_t count, float scale) {
    auto list = std::make_shared<std::vector<float>>(count);
    for (size_t i = 0; i < count; ++i) {
      (*list)[i] = scale * (static_cast<float>(i % 97) - 48.0f) / 64.0f;
    }
    return list;
  };
  CheckpointState state;
  state.job = 0x6d6f746c65793031;
  state.step = 120;
  state.seed = 42;
  state.description = R"({"model": "softmax", "classes": 10})";
  state.parameters = values(parameters, 1.0f);
  state.optimizer_steps = 119;
  state.optimizer_state = values(optimizer_state, -0.5f);
  return state;
}

const std::vector<Golden>& Goldens() {
  static const std::vector<Golden> list = {
      {"4+2", "4+2", StateOf(650, 1300)},
      {"cauchy-3+2", "cauchy:3+2", StateOf(100, 0)},
      {"one", "1+0", StateOf(1, 1)},
  };
  return list;
}

std::unique_ptr<Store> OpenGolden(const Golden& golden) {
  const std::string folder =
      std::string(MOTLEY_SOURCE_DIR) + "/tests/golden/checkpoint-v1/" + golden.folder;
  auto store = OpenFileStore(folder, MissingFolder::kRefuse);
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  return store.ok() ? std::move(*store) : nullptr;
}

TEST(GoldenCheckpoints, AreRead) {
  for (const Golden& golden : Goldens()) {
    const auto store = OpenGolden(golden);
    ASSERT_NE(store, nullptr);
    const auto report = VerifyCheckpoint(*store);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(report->healthy()) << report->ToText();
    EXPECT_EQ(ToText(report->info.code), golden.code);
    const auto read = ReadCheckpoint(*store);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_TRUE(Same(*read, golden.state)) << golden.folder;
  }
}

TEST(GoldenCheckpoints, AreWhatIsWritten) {
  for (const Golden& golden : Goldens()) {
    const auto store = OpenGolden(golden);
    ASSERT_NE(store, nullptr);
    SimStore written(1);
    ASSERT_TRUE(WriteCheckpoint(written, *ParseCheckpointCode(golden.code), golden.state).ok());
    const auto files = AllFiles(written);
    ASSERT_FALSE(files.empty());
    for (const auto& [path, bytes] : files) EXPECT_EQ(Contents(*store, path), bytes) << path;
  }
}

// An intact golden checkpoint is read from its data blocks alone. Without its first shards, parity
// is used as well.
TEST(GoldenCheckpoints, AreRestoredWithoutTheirFirstShards) {
  for (const Golden& golden : Goldens()) {
    const auto store = OpenGolden(golden);
    ASSERT_NE(store, nullptr);
    const CheckpointCode code = *ParseCheckpointCode(golden.code);
    SimStore left(1);
    for (uint32_t shard = code.parity; shard < code.data + code.parity; ++shard) {
      const std::string path = "node-0" + std::to_string(shard) + "/step-000000000120.shard";
      Put(left, path, Contents(*store, path));
    }
    const auto read = ReadCheckpoint(left);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_TRUE(Same(*read, golden.state)) << golden.folder;
  }
}

}  // namespace
}  // namespace motley
