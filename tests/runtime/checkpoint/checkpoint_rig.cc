// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_rig.h"

#include <fmt/format.h>

#include <cstring>

#include "base/random.h"
#include "runtime/store_path.h"

namespace motley {
namespace {

std::shared_ptr<const std::vector<float>> RandomFloats(Random& random, size_t count) {
  auto values = std::make_shared<std::vector<float>>(count);
  for (float& value : *values) value = static_cast<float>(random.Next32()) - 2e9f;
  return values;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace

CheckpointState MakeState(uint64_t step, size_t parameters, uint64_t variant) {
  Random random(step, Stream::kTest, variant);
  CheckpointState state;
  state.job = 0x0123456789abcdef;
  state.step = step;
  state.seed = 7;
  state.description = fmt::format(R"({{"model":"mlp:4","step":{},"variant":{}}})", step, variant);
  state.parameters = RandomFloats(random, parameters);
  state.optimizer_steps = step;
  state.optimizer_state = RandomFloats(random, parameters * (variant % 3));
  return state;
}

testing::AssertionResult Same(const CheckpointState& got, const CheckpointState& wanted) {
  const auto failure = [&](const char* what) {
    return testing::AssertionFailure() << what << " of step " << got.step << " differ";
  };
  if (got.step != wanted.step || got.seed != wanted.seed || got.job != wanted.job ||
      got.optimizer_steps != wanted.optimizer_steps) {
    return failure("numbers");
  }
  if (got.description != wanted.description) return failure("descriptions");
  if (!SameBits(*got.parameters, *wanted.parameters)) return failure("parameters");
  if (!SameBits(*got.optimizer_state, *wanted.optimizer_state)) return failure("optimizer states");
  return testing::AssertionSuccess();
}

Bytes Contents(Store& store, const std::string& path) {
  const auto size = store.Size(path);
  EXPECT_TRUE(size.ok()) << size.status().ToString();
  Bytes bytes(size.ok() ? *size : 0);
  const auto got = store.Read(path, 0, bytes);
  EXPECT_TRUE(got.ok() && *got == bytes.size());
  return bytes;
}

std::map<std::string, Bytes> AllFiles(SimStore& store) {
  std::map<std::string, Bytes> files;
  for (const std::string& path : store.Files()) files[path] = Contents(store, path);
  return files;
}

void Put(Store& store, const std::string& path, BytesView bytes) {
  (void)store.Remove(path);
  ASSERT_TRUE(store.MakeFolder(FolderOf(path)).ok());
  auto file = store.Create(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  ASSERT_TRUE((*file)->Append(bytes).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE(store.SyncFolder(FolderOf(path)).ok());
}

}  // namespace motley
