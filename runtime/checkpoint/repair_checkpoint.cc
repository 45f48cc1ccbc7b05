// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "runtime/checkpoint/payload.h"
#include "runtime/checkpoint/shard_set.h"
#include "runtime/checkpoint/shard_writer.h"
#include "runtime/checkpoint/stripe_reader.h"
#include "runtime/checkpoint/verify_set.h"

namespace motley {
namespace {

// Writes the shards of `writers` from the blocks of all, and holds the whole against the id.
Status Rebuild(StripeReader& reader, const ShardHeader& header, std::vector<ShardWriter>& writers) {
  PayloadHash hash(header);
  for (uint64_t stripe = 0; stripe < reader.layout().stripes(); ++stripe) {
    reader.ReadAll(stripe);
    if (const Status status = reader.Rebuild(); !status.ok()) {
      return reader.read_error().ok() ? status : reader.read_error();
    }
    for (uint32_t i = 0; i < header.code.data; ++i) hash.Add(reader.block(i));
    for (ShardWriter& writer : writers) {
      MOTLEY_RETURN_IF_ERROR(writer.AddBlock(reader.block(writer.header().shard)));
    }
  }
  if (hash.Value() == header.id) return Status::Ok();
  return NotTogether();
}

Status RebuildShards(Store& store, const ShardSet& set, const VerifyReport& report) {
  std::vector<ShardHeader> headers;
  for (const ShardReport& shard : report.shards) {
    if (shard.healthy()) continue;
    headers.push_back(set.header);
    headers.back().shard = shard.shard;
  }
  MOTLEY_RETURN_IF_ERROR(MakeShardFolders(store, headers));
  MOTLEY_ASSIGN_OR_RETURN(StripeReader reader, StripeReader::Open(store, set));
  std::vector<ShardWriter> writers;
  Status status;
  for (size_t i = 0; i < headers.size() && status.ok(); ++i) {
    auto writer = ShardWriter::Begin(store, headers[i]);
    status = writer.status();
    if (writer.ok()) writers.push_back(std::move(*writer));
  }
  if (status.ok()) status = Rebuild(reader, set.header, writers);
  if (status.ok()) status = PublishShards(store, writers);
  if (status.ok()) return status;
  for (ShardWriter& writer : writers) writer.Discard();
  return status;
}

}  // namespace

Result<VerifyReport> RepairCheckpoint(Store& store, std::optional<uint64_t> step) {
  MOTLEY_RETURN_IF_ERROR(store.Lock());
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  MOTLEY_ASSIGN_OR_RETURN(const ShardSet set, ChooseSet(store, scan, step));
  MOTLEY_ASSIGN_OR_RETURN(VerifyReport before, VerifySet(store, set));
  if (before.healthy()) return before;
  if (!before.restorable()) return TooMuchLost(before);
  const std::string context = fmt::format("repairing the checkpoint of step {}", set.header.step);
  if (const Status status = RebuildShards(store, set, before); !status.ok()) {
    return status.WithContext(context);
  }
  MOTLEY_ASSIGN_OR_RETURN(const VerifyReport after, VerifyCheckpoint(store, set.header.step));
  if (after.healthy()) return before;
  return Status::DataError("the shards are still not right: " + after.ToText())
      .WithContext(context);
}

}  // namespace motley
