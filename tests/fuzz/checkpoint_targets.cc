// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_format.h"
#include "runtime/saving/saved_job.h"
#include "sim/world/sim_store.h"
#include "tests/fuzz/target.h"

namespace motley::fuzz {
namespace {

constexpr size_t kFolders = 3;

// Sets the header's checksum right, so that the content is checked as well.
void Seal(Bytes& file) {
  if (file.size() < kHeaderBytes) return;
  const uint64_t sum = Hash64(BytesView(file).first(kHeaderBytes - sizeof(uint64_t)));
  std::memcpy(file.data() + kHeaderBytes - sizeof(sum), &sum, sizeof(sum));
}

// The step in the header, or any other.
uint64_t StepOf(const Bytes& file) {
  const auto header = ParseHeader(file);
  return header.ok() ? header->step : 3;
}

void Put(SimStore& store, uint32_t folder, BytesView piece, bool seal) {
  Bytes file(piece.begin(), piece.end());
  if (seal) Seal(file);
  MOTLEY_ASSERT(store.MakeFolder(ShardFolder(folder)).ok());
  auto created = store.Create(ShardPath(folder, StepOf(file)));
  MOTLEY_ASSERT(created.ok() && (*created)->Append(file).ok());
}

}  // namespace

// The first byte chooses the headers that get a right checksum. The rest is cut into equal parts,
// one file for each folder. What can be read must be whole, and what was repaired must be healthy.
void Checkpoint(std::string_view input) {
  if (input.empty()) return;
  SimStore store(1);
  const BytesView files = std::as_bytes(std::span(input)).subspan(1);
  const size_t size = files.size() / kFolders;
  for (uint32_t folder = 0; folder < kFolders; ++folder) {
    Put(store, folder, files.subspan(folder * size, size), (input[0] >> folder & 1) != 0);
  }
  const auto list = ListCheckpoints(store);
  MOTLEY_ASSERT(list.ok());
  (void)VerifyCheckpoint(store);
  for (const CheckpointInfo& info : *list) {
    const auto read = ReadCheckpoint(store, info.step);
    if (read.ok()) MOTLEY_ASSERT(read->step == info.step && read->parameters != nullptr);
  }
  const auto repaired = RepairCheckpoint(store);
  if (!repaired.ok()) return;
  const auto report = VerifyCheckpoint(store, repaired->info.step);
  MOTLEY_ASSERT(report.ok() && report->healthy());
}

// A description that was read can be written and read again. Its model, if any, has as many
// parameters as stated.
void Description(std::string_view input) {
  const auto about = ParseJobDescription(std::string(input));
  if (!about.ok()) {
    MOTLEY_ASSERT(about.code() == StatusCode::kDataError || about.code() == StatusCode::kConflict);
    return;
  }
  const std::string text = ToJson(*about);
  const auto again = ParseJobDescription(text);
  MOTLEY_ASSERT(again.ok() && ToJson(*again) == text);
  constexpr uint64_t kMostParameters = 1000;
  CheckpointState state;
  state.step = about->history.first_loss + about->history.batch_loss.size();
  state.description = text;
  state.parameters =
      std::make_shared<std::vector<float>>(std::min(about->parameters, kMostParameters));
  state.optimizer_state = std::make_shared<std::vector<float>>();
  const auto saved = Understand(state);
  if (!saved.ok()) return;
  const auto model = ModelOf(*saved);
  if (model.ok()) MOTLEY_ASSERT(model->parameters.size() == about->parameters);
}

}  // namespace motley::fuzz
