// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/checkpoint/payload.h"
#include "runtime/checkpoint/shard_set.h"
#include "runtime/checkpoint/shard_writer.h"
#include "runtime/checkpoint/verify_set.h"

namespace motley {
namespace {

Status CheckState(const CheckpointState& state) {
  if (state.parameters == nullptr || state.optimizer_state == nullptr) {
    return Status::InvalidArgument("a checkpoint needs parameters and an optimizer state");
  }
  if (state.description.size() > kMostDescriptionBytes) {
    return Status::InvalidArgument(
        fmt::format("a checkpoint's description has {} bytes, at most {}", state.description.size(),
                    kMostDescriptionBytes));
  }
  return Status::Ok();
}

ShardHeader HeaderFor(const ErasureCode& code, const CheckpointState& state) {
  ShardHeader header;
  header.job = state.job;
  header.step = state.step;
  header.seed = state.seed;
  header.optimizer_steps = state.optimizer_steps;
  header.code = {code.data(), code.parity(), code.technique()};
  header.matrix_hash = Hash64(std::as_bytes(code.matrix()));
  header.description_bytes = state.description.size();
  header.parameters = state.parameters->size();
  header.optimizer_state = state.optimizer_state->size();
  header.block_bytes = BlockBytesFor(PayloadSections(header).total_bytes, code.data());
  return header;
}

PayloadSource SourceOf(const ShardHeader& header, const CheckpointState& state) {
  return PayloadSource(
      header, {AsBytes(state.description), AsBytes(std::span<const float>(*state.parameters)),
               AsBytes(std::span<const float>(*state.optimizer_state))});
}

Status WriteStripes(const ErasureCode& code, const PayloadSource& source,
                    std::vector<ShardWriter>& writers) {
  const ShardLayout layout(writers[0].header());
  std::vector<Bytes> blocks(code.blocks(), Bytes(writers[0].header().block_bytes));
  for (uint64_t stripe = 0; stripe < layout.stripes(); ++stripe) {
    const size_t size = layout.BlockBytes(stripe);
    std::vector<BytesView> data;
    std::vector<std::span<std::byte>> parity;
    for (uint32_t i = 0; i < code.blocks(); ++i) {
      const auto block = std::span(blocks[i]).first(size);
      if (i < code.data()) {
        source.Copy(layout.PayloadOffset(stripe, i), block);
        data.push_back(block);
      } else {
        parity.push_back(block);
      }
    }
    MOTLEY_RETURN_IF_ERROR(code.Encode(data, parity));
    for (uint32_t i = 0; i < code.blocks(); ++i) {
      MOTLEY_RETURN_IF_ERROR(writers[i].AddBlock(BytesView(blocks[i]).first(size)));
    }
  }
  return Status::Ok();
}

Status WriteShards(Store& store, const ErasureCode& code, const ShardHeader& common,
                   const PayloadSource& source) {
  std::vector<ShardHeader> headers(code.blocks(), common);
  for (uint32_t shard = 0; shard < code.blocks(); ++shard) headers[shard].shard = shard;
  MOTLEY_RETURN_IF_ERROR(MakeShardFolders(store, headers));
  std::vector<ShardWriter> writers;
  Status status;
  for (uint32_t shard = 0; shard < code.blocks() && status.ok(); ++shard) {
    auto writer = ShardWriter::Begin(store, headers[shard]);
    status = writer.status();
    if (writer.ok()) writers.push_back(std::move(*writer));
  }
  if (status.ok()) status = WriteStripes(code, source, writers);
  if (status.ok()) status = PublishShards(store, writers);
  if (status.ok()) return status;
  for (ShardWriter& writer : writers) {
    writer.Discard();
    (void)store.Remove(ShardPath(writer.header().shard, common.step));
  }
  return status;
}

std::string SetText(const ShardSet& set) {
  return fmt::format("step {} of job {:016x}", set.header.step, set.header.job);
}

// That nothing in the folder would be taken for this job's newest state, or lost to it.
Status CheckFolder(Store& store, const ShardScan& scan, const CheckpointState& state) {
  for (const ShardSet& set : scan.sets) {
    if (set.header.job != state.job) {
      return Status::Conflict(fmt::format(
          "{} holds a checkpoint of another job: {}. Resume that job, or choose another folder",
          store.Describe(""), SetText(set)));
    }
    if (set.header.step > state.step && set.LooksRestorable()) {
      return Status::Conflict(fmt::format(
          "{} holds a newer checkpoint of this job: {}; this one is of step {}. Resume from the "
          "newest, remove it, or choose another folder",
          store.Describe(""), SetText(set), state.step));
    }
  }
  if (!scan.newer_version.empty()) return Status::Conflict(scan.newer_version);
  return Status::Ok();
}

void RemoveFiles(Store& store, const ShardSet& set) {
  for (const ShardPlace& place : set.places) {
    if (place.usable) (void)store.Remove(place.path);  // Failures are left to the next writer.
  }
}

// The steps that stay are those of the newest `keep` that look restorable, and all newer ones.
// Failures are left to the next writer.
void Prune(Store& store, uint32_t keep) {
  const auto scan = ScanShards(store);
  if (!scan.ok()) return;
  uint32_t kept = 0;
  std::vector<uint64_t> steps = scan->headless_steps;
  std::optional<uint64_t> oldest;
  for (const ShardSet& set : scan->sets) {
    steps.push_back(set.header.step);
    if (kept < std::max<uint32_t>(1, keep) && set.LooksRestorable()) {
      ++kept;
      oldest = set.header.step;
    }
  }
  for (const uint64_t step : steps) {
    if (!oldest || step >= *oldest) continue;
    for (const uint32_t folder : scan->folders) (void)store.Remove(ShardPath(folder, step));
  }
}

// Whether this job's checkpoint of the step is there already, repaired if need be. If what is there
// cannot be restored, it goes.
Result<bool> AlreadyThere(Store& store, const ShardScan& scan, uint64_t step) {
  for (const ShardSet& set : scan.sets) {
    if (set.header.step != step) continue;
    const auto report = set.LooksRestorable() ? VerifySet(store, set)
                                              : Result<VerifyReport>(Status::NotDecodable(""));
    if (!report.ok() || !report->restorable()) {
      RemoveFiles(store, set);
      continue;
    }
    if (!report->healthy()) MOTLEY_RETURN_IF_ERROR(RepairCheckpoint(store, step).status());
    // A program that was killed may have left names that no power cut has tested yet.
    for (uint32_t shard = 0; shard < set.header.shards(); ++shard) {
      MOTLEY_RETURN_IF_ERROR(store.SyncFolder(ShardFolder(shard)));
    }
    MOTLEY_RETURN_IF_ERROR(store.SyncFolder(""));
    return true;
  }
  return false;
}

Status VerifyWritten(Store& store, const ShardHeader& header) {
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  MOTLEY_ASSIGN_OR_RETURN(const ShardSet set, ChooseSet(store, scan, header.step));
  MOTLEY_ASSIGN_OR_RETURN(const VerifyReport report, VerifySet(store, set));
  if (report.healthy() && report.info.id == ToText(header.id)) return Status::Ok();
  return Status::DataError("what was read back is not what was written: " + report.ToText());
}

}  // namespace

Status WriteCheckpoint(Store& store, const CheckpointCode& code, const CheckpointState& state,
                       const CheckpointKeep& keep) {
  const std::string context = fmt::format("checkpoint of step {}", state.step);
  const auto write = [&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckState(state));
    if (uint64_t{code.data} + code.parity > kMostShards) {
      return Status::InvalidArgument(fmt::format("more than {} shards", kMostShards));
    }
    MOTLEY_ASSIGN_OR_RETURN(const ErasureCode erasure,
                            ErasureCode::Create(code.data, code.parity, code.technique));
    MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
    MOTLEY_RETURN_IF_ERROR(CheckFolder(store, scan, state));
    for (const std::string& path : scan.leftovers) (void)store.Remove(path);
    MOTLEY_ASSIGN_OR_RETURN(const bool there, AlreadyThere(store, scan, state.step));
    if (there) return Status::Ok();
    ShardHeader header = HeaderFor(erasure, state);
    const PayloadSource source = SourceOf(header, state);
    header.id = source.Id(header);
    MOTLEY_RETURN_IF_ERROR(WriteShards(store, erasure, header, source));
    MOTLEY_RETURN_IF_ERROR(VerifyWritten(store, header));
    Prune(store, keep.newest);
    return Status::Ok();
  };
  const Status status = write();
  return status.ok() ? status : status.WithContext(context);
}

}  // namespace motley
