// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>
#include <utility>

#include "runtime/checkpoint/make_way.h"
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

void RemoveShards(Store& store, const ShardHeader& header) {
  for (uint32_t shard = 0; shard < header.shards(); ++shard) {
    (void)store.Remove(ShardPath(shard, header.step));
  }
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
  for (ShardWriter& writer : writers) writer.Discard();
  RemoveShards(store, common);
  return status;
}

// The steps that stay are `written`, which is verified, and the newest before it that look
// restorable, `keep` in all; what is newer is not asked. Failures are left to the next writer.
void Prune(Store& store, uint32_t keep, uint64_t written) {
  const auto scan = ScanShards(store);
  if (!scan.ok()) return;
  uint32_t kept = 1;
  uint64_t oldest = written;
  for (const ShardSet& set : scan->sets) {
    if (set.header.step >= oldest || kept >= keep || !set.LooksRestorable()) continue;
    ++kept;
    oldest = set.header.step;
  }
  std::set<uint64_t> unread;
  for (const ShardFile& file : scan->files) {
    if (!file.unread.ok()) unread.insert(file.step);
  }
  for (const ShardFile& file : scan->files) {
    if (file.step < oldest && !unread.contains(file.step)) (void)store.Remove(file.path);
  }
}

// The checkpoint that is there becomes as good as a new one.
Status Acknowledge(Store& store, const ShardHeader& header) {
  MOTLEY_RETURN_IF_ERROR(RepairCheckpoint(store, header.step).status());
  // A program that was killed may have left names that no power cut has tested yet.
  for (uint32_t shard = 0; shard < header.shards(); ++shard) {
    MOTLEY_RETURN_IF_ERROR(store.SyncFolder(ShardFolder(shard)));
  }
  return store.SyncFolder("");
}

Status VerifyWritten(Store& store, const ShardHeader& header) {
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  for (const ShardFile& file : scan.files) {
    if (file.step == header.step) MOTLEY_RETURN_IF_ERROR(file.unread);
  }
  MOTLEY_RETURN_IF_ERROR(scan.unlisted);
  MOTLEY_ASSIGN_OR_RETURN(const ShardSet set, ChooseSet(store, scan, header.step));
  MOTLEY_ASSIGN_OR_RETURN(const VerifyReport report, VerifySet(store, set));
  if (report.healthy() && report.info.id == ToText(header.id)) return Status::Ok();
  if (!report.read_error.ok()) return report.read_error.WithContext("reading it back");
  return Status::DataError("what was read back is not what was written: " + report.ToText());
}

}  // namespace

Status WriteCheckpoint(Store& store, const CheckpointCode& code, const CheckpointState& state,
                       const CheckpointKeep& keep, std::vector<std::string>* notes) {
  const std::string context = fmt::format("checkpoint of step {}", state.step);
  const auto write = [&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckState(state));
    if (uint64_t{code.data} + code.parity > kMostShards) {
      return Status::InvalidArgument(fmt::format("more than {} shards", kMostShards));
    }
    MOTLEY_ASSIGN_OR_RETURN(const ErasureCode erasure,
                            ErasureCode::Create(code.data, code.parity, code.technique));
    MOTLEY_RETURN_IF_ERROR(store.Lock());
    ShardHeader header = HeaderFor(erasure, state);
    const PayloadSource source = SourceOf(header, state);
    header.id = source.Id(header);
    MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
    MOTLEY_ASSIGN_OR_RETURN(const bool there, MakeWay(store, scan, header, notes));
    if (there) return Acknowledge(store, header);
    MOTLEY_RETURN_IF_ERROR(WriteShards(store, erasure, header, source));
    if (const Status status = VerifyWritten(store, header); !status.ok()) {
      RemoveShards(store, header);  // Nobody was told of it.
      return status;
    }
    Prune(store, keep.newest, state.step);
    return Status::Ok();
  };
  const Status status = write();
  return status.ok() ? status : status.WithContext(context);
}

}  // namespace motley
