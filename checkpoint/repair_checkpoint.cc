// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "checkpoint/payload.h"
#include "checkpoint/shard_set.h"
#include "checkpoint/shard_writer.h"
#include "checkpoint/stripe_reader.h"
#include "checkpoint/verify_set.h"

namespace motley {
namespace {

// Rebuilds damaged shards independently: a folder that fails does not stop the others.
class Rebuilding {
 public:
  Rebuilding(Store& store, const ShardSet& set, const VerifyReport& report)
      : store_(store), header_(set.header) {
    for (const ShardReport& shard : report.shards) {
      if (!shard.healthy()) shards_.push_back({shard.shard, {}, {}});
    }
  }

  // Errors concern all shards; Failed() has those of single ones.
  Status Run(StripeReader& reader) {
    ForEach([&](Shard& one) { return store_.MakeFolder(ShardFolder(one.number)); });
    MOTLEY_RETURN_IF_ERROR(store_.SyncFolder(""));
    ForEach([&](Shard& one) -> Status {
      ShardHeader header = header_;
      header.shard = one.number;
      MOTLEY_ASSIGN_OR_RETURN(one.writer, ShardWriter::Begin(store_, header));
      return Status::Ok();
    });
    const Status written = WriteStripes(reader);
    if (!written.ok()) {
      for (Shard& one : shards_) Discard(one);
      return written;
    }
    ForEach([](Shard& one) { return one.writer->Finish(); });
    ForEach([](Shard& one) { return one.writer->Publish(); });
    ForEach([&](Shard& one) { return store_.SyncFolder(ShardFolder(one.number)); });
    return Status::Ok();
  }

  // OK if all shards were rebuilt.
  Status Failed() const {
    std::string text;
    const Status* first = nullptr;
    for (const Shard& one : shards_) {
      if (one.failure.ok()) continue;
      const std::string where = store_.Describe(ShardPath(one.number, header_.step));
      if (first != nullptr) text += ", ";
      text += fmt::format("shard {} ({})", one.number, where);
      if (first == nullptr) first = &one.failure;
    }
    if (first == nullptr) return Status::Ok();
    const auto failed = std::count_if(shards_.begin(), shards_.end(),
                                      [](const Shard& one) { return !one.failure.ok(); });
    const auto rebuilt = static_cast<ptrdiff_t>(shards_.size()) - failed;
    return first->WithContext(
        fmt::format("{} of {} shards rebuilt, not {}", rebuilt, shards_.size(), text));
  }

 private:
  struct Shard {
    uint32_t number = 0;
    std::optional<ShardWriter> writer;
    Status failure;
  };

  template <typename Work>
  void ForEach(const Work& work) {
    for (Shard& one : shards_) {
      if (!one.failure.ok()) continue;
      one.failure = work(one);
      if (!one.failure.ok()) Discard(one);
    }
  }

  static void Discard(Shard& one) {
    if (one.writer) one.writer->Discard();
    one.writer.reset();
  }

  // Writes the shards from the blocks of all, and compares the whole with the id.
  Status WriteStripes(StripeReader& reader) {
    PayloadHash hash(header_);
    for (uint64_t stripe = 0; stripe < reader.layout().stripes(); ++stripe) {
      reader.ReadAll(stripe);
      if (const Status status = reader.Rebuild(); !status.ok()) {
        return reader.read_error().ok() ? status : reader.read_error();
      }
      for (uint32_t i = 0; i < header_.code.data; ++i) hash.Add(reader.block(i));
      ForEach([&](Shard& one) { return one.writer->AddBlock(reader.block(one.number)); });
    }
    if (hash.Value() == header_.id) return Status::Ok();
    return NotTogether();
  }

  Store& store_;
  ShardHeader header_;
  std::vector<Shard> shards_;
};

// The checkpoint is now intact, so it no longer counts as unfinished.
Status RemoveMarks(Store& store, const ShardSet& set) {
  for (uint32_t shard = 0; shard < set.places.size(); ++shard) {
    if (!set.places[shard].marked) continue;
    MOTLEY_RETURN_IF_ERROR(RemoveWritingMark(store, shard, set.header.step));
  }
  return Status::Ok();
}

}  // namespace

Result<VerifyReport> RepairCheckpoint(Store& store, std::optional<uint64_t> step) {
  MOTLEY_RETURN_IF_ERROR(store.Lock());
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  MOTLEY_ASSIGN_OR_RETURN(const ShardSet set, ChooseSet(store, scan, step));
  MOTLEY_ASSIGN_OR_RETURN(VerifyReport before, VerifySet(store, set));
  if (!before.restorable()) return TooMuchLost(before);
  const std::string context = fmt::format("repairing the checkpoint of step {}", set.header.step);
  if (before.healthy()) {
    const Status unmarked = RemoveMarks(store, set);
    if (!unmarked.ok()) return unmarked.WithContext(context);
    return before;
  }
  Rebuilding rebuilding(store, set, before);
  MOTLEY_ASSIGN_OR_RETURN(StripeReader reader, StripeReader::Open(store, set));
  Status status = rebuilding.Run(reader);
  if (status.ok()) status = rebuilding.Failed();
  if (status.ok()) status = RemoveMarks(store, set);
  if (!status.ok()) return status.WithContext(context);
  MOTLEY_ASSIGN_OR_RETURN(const VerifyReport after, VerifyCheckpoint(store, set.header.step));
  if (after.healthy()) return before;
  return Status::DataError("the shards are still not right: " + after.ToText())
      .WithContext(context);
}

}  // namespace motley
