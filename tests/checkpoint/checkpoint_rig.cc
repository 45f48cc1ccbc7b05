// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_rig.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "checkpoint/shard_format.h"
#include "checkpoint/store/store_path.h"

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
  Bytes bytes;
  size_t filled = 0;
  while (filled == bytes.size()) {
    bytes.resize(2 * filled + 65536);
    const auto got = store.Read(path, filled, std::span(bytes).subspan(filled));
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    if (!got.ok()) return {};
    filled += *got;
  }
  bytes.resize(filled);
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

Bytes WithOtherBlock(BytesView shard, uint64_t stripe) {
  Bytes file(shard.begin(), shard.end());
  const auto header = ParseHeader(file);
  EXPECT_TRUE(header.ok()) << header.status().ToString();
  if (!header.ok()) return file;
  const ShardLayout layout(*header);
  const auto block = std::span(file).subspan(layout.BlockOffset(stripe), layout.BlockBytes(stripe));
  block[block.size() / 2] ^= std::byte{4};
  const uint64_t sum = BlockChecksum(header->id, header->shard, stripe, block);
  std::memcpy(block.data() + block.size(), &sum, sizeof(sum));
  HashStream content;
  content.Add(BytesView(file).first(file.size() - kFooterBytes));
  const FooterBytes footer = PackFooter(*header, content.Value());
  std::copy(footer.begin(), footer.end(), file.end() - kFooterBytes);
  return file;
}

}  // namespace motley
