// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "checkpoint/make_way.h"
#include "checkpoint/payload.h"
#include "checkpoint/shard_group.h"
#include "checkpoint/shard_set.h"
#include "checkpoint/shard_writer.h"
#include "checkpoint/verify_set.h"

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

Status WriteStripes(const ErasureCode& code, const ShardHeader& header, const PayloadSource& source,
                    ShardGroup& shards) {
  const ShardLayout layout(header);
  std::vector<Bytes> blocks(code.blocks(), Bytes(header.block_bytes));
  for (uint64_t stripe = 0; stripe < layout.stripes(); ++stripe) {
    const size_t size = layout.BlockBytes(stripe);
    std::vector<BytesView> all;
    std::vector<std::span<std::byte>> parity;
    for (uint32_t i = 0; i < code.blocks(); ++i) {
      const auto block = std::span(blocks[i]).first(size);
      all.push_back(block);
      if (i < code.data()) {
        source.Copy(layout.PayloadOffset(stripe, i), block);
      } else {
        parity.push_back(block);
      }
    }
    MOTLEY_RETURN_IF_ERROR(code.Encode(std::span(all).first(code.data()), parity));
    MOTLEY_RETURN_IF_ERROR(shards.AddStripe(all));
  }
  return Status::Ok();
}

// Verifies every byte of this very checkpoint.
Result<VerifyReport> ReadBack(Store& store, const ShardHeader& header) {
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  for (const ShardSet& set : scan.sets) {
    if (set.header.step == header.step && set.header.id == header.id) return VerifySet(store, set);
  }
  for (const ShardFile& file : scan.files) {
    if (file.step == header.step) MOTLEY_RETURN_IF_ERROR(file.unread);
  }
  if (!scan.unlisted.empty()) return scan.unlisted.begin()->second;
  return Status::DataError("nothing of what was written can be found");
}

Status WhyNotRight(const ShardReport& shard) {
  if (!shard.read_error.ok()) return shard.read_error.WithContext("reading it back");
  return Status::DataError(fmt::format(
      "reading back gave other data than were written: {}",
      shard.problem.empty() ? fmt::format("{} blocks differ", shard.damaged_blocks.size())
                            : shard.problem));
}

Status WriteShards(Store& store, const ErasureCode& code, const ShardHeader& header,
                   const PayloadSource& source, ShardGroup& shards) {
  MOTLEY_RETURN_IF_ERROR(shards.Begin());
  MOTLEY_RETURN_IF_ERROR(WriteStripes(code, header, source, shards));
  MOTLEY_RETURN_IF_ERROR(shards.Publish());
  const auto report = ReadBack(store, header);
  if (!report.ok()) return report.status().WithContext("reading it back");
  for (const ShardReport& shard : report->shards) {
    if (!shards.Has(shard.shard) || shard.healthy()) continue;
    MOTLEY_RETURN_IF_ERROR(shards.LeaveOut(shard.shard, WhyNotRight(shard)));
  }
  return shards.Unmark();
}

// Losses that the checkpoint may still have, by headers; 0 if it does not look restorable.
uint32_t Strength(const ShardSet& set) { return InfoOf(set).survives; }

// Like Strength, by reading every byte.
uint32_t VerifiedStrength(Store& store, const ShardSet& set) {
  const auto report = VerifySet(store, set);
  return report.ok() && report->restorable() ? report->survives : 0;
}

// Decides for each step before `written` whether it stays. `written` is verified and survives
// `survives` losses. These stay: the newest that look restorable, `keep` of them with the written
// one, and each that survives more losses than all newer ones that stay. Steps that do not look
// restorable are not in the result. Headers are enough to keep a checkpoint, but before another is
// deleted because of it, it is read.
std::map<uint64_t, bool> ChooseKept(Store& store, const ShardScan& scan, uint32_t keep,
                                    uint64_t written, uint32_t survives) {
  std::map<uint64_t, bool> stays;
  std::vector<const ShardSet*> unproven;  // They stay; `survives` does not include them yet.
  uint32_t kept = 1;
  for (const ShardSet& set : scan.sets) {
    const uint64_t step = set.header.step;
    if (step >= written || !set.LooksRestorable() || stays.contains(step)) continue;
    if (Strength(set) > survives) {
      for (const ShardSet* one : unproven) {
        survives = std::max(survives, VerifiedStrength(store, *one));
      }
      unproven.clear();
    }
    const bool stronger = Strength(set) > survives;
    stays[step] = kept < keep || stronger;
    if (stays[step]) ++kept;
    if (stronger) unproven.push_back(&set);
  }
  return stays;
}

// Removes what ChooseKept drops. Failures are left to the next writer. Unrestorable files between
// kept steps stay.
void Prune(Store& store, uint32_t keep, uint64_t written, uint32_t survives) {
  const auto scan = ScanShards(store);
  if (!scan.ok()) return;
  const std::map<uint64_t, bool> stays = ChooseKept(store, *scan, keep, written, survives);
  uint64_t oldest = written;
  for (const auto& [step, does] : stays) {
    if (does) oldest = std::min(oldest, step);
  }
  std::set<uint64_t> unread;
  for (const ShardFile& file : scan->files) {
    if (!file.unread.ok()) unread.insert(file.step);
  }
  const auto goes = [&](uint64_t step) {
    if (step >= written || unread.contains(step)) return false;
    const auto known = stays.find(step);
    return known != stays.end() ? !known->second : step < oldest;
  };
  for (const ShardFile& file : scan->files) {
    if (goes(file.step)) (void)store.Remove(file.path);
  }
  for (const WritingMark& mark : scan->marks) {
    if (goes(mark.step)) (void)store.Remove(WritingMarkPath(mark.folder, mark.step));
  }
}

// Frees disk space after a checkpoint failed while more than `keep` older ones exist. Only the
// newest and the one that survives most losses stay. All are read before any is deleted.
// Checkpoints that were never acknowledged do not count, and stay. Returns the deleted steps.
std::vector<uint64_t> MakeRoom(Store& store, uint64_t before, size_t keep) {
  const auto scan = ScanShards(store);
  if (!scan.ok()) return {};
  std::set<uint64_t> marked;
  for (const WritingMark& mark : scan->marks) marked.insert(mark.step);
  const auto counts = [&](const ShardSet& set) {
    const uint64_t step = set.header.step;
    return step < before && set.LooksRestorable() && !marked.contains(step);
  };
  if (static_cast<size_t>(std::count_if(scan->sets.begin(), scan->sets.end(), counts)) <= keep) {
    return {};
  }
  const ShardSet* newest = nullptr;
  const ShardSet* strongest = nullptr;
  uint32_t most = 0;
  for (const ShardSet& set : scan->sets) {
    if (!counts(set)) continue;
    const auto report = VerifySet(store, set);
    if (!report.ok() || !report->restorable()) return {};
    if (newest == nullptr) newest = &set;
    if (strongest != nullptr && report->survives <= most) continue;
    strongest = &set;
    most = report->survives;
  }
  std::vector<uint64_t> gone;
  for (const ShardSet& set : scan->sets) {
    const uint64_t step = set.header.step;
    if (!counts(set)) continue;
    if (step == newest->header.step || step == strongest->header.step) continue;
    for (const ShardFile& file : scan->files) {
      if (file.step == step) (void)store.Remove(file.path);
    }
    gone.push_back(step);
  }
  return gone;
}

// Repairs an existing checkpoint as far as its folders allow, and acknowledges it.
Status Acknowledge(Store& store, const ShardHeader& header, const Way& way,
                   std::vector<LeftOutShard>& left_out) {
  const auto repaired = RepairCheckpoint(store, header.step);
  MOTLEY_ASSIGN_OR_RETURN(const VerifyReport report, ReadBack(store, header));
  for (const ShardReport& shard : report.shards) {
    const std::string folder = ShardFolder(shard.shard);
    const auto closed = way.closed.find(shard.shard);
    Status status = closed != way.closed.end() ? closed->second : Status::Ok();
    if (status.ok() && !shard.healthy()) {
      status = repaired.ok() ? WhyNotRight(shard) : repaired.status();
    }
    // A program that was killed may have left names that are not yet on the disk.
    if (status.ok()) status = RemoveWritingMark(store, shard.shard, header.step);
    if (!status.ok()) left_out.push_back({shard.shard, store.Describe(folder), std::move(status)});
  }
  MOTLEY_RETURN_IF_ERROR(CheckEnough(header, left_out));
  return store.SyncFolder("");
}

Status WriteNew(Store& store, const ErasureCode& code, const ShardHeader& header,
                const PayloadSource& source, const Way& way, std::vector<LeftOutShard>& left_out) {
  ShardGroup shards(store, header);
  Status status;
  for (const auto& [folder, why] : way.closed) {
    if (folder < header.shards() && status.ok()) status = shards.LeaveOut(folder, why);
  }
  if (status.ok()) status = WriteShards(store, code, header, source, shards);
  if (!status.ok()) shards.RemoveAll();  // It was never acknowledged.
  left_out = shards.left_out();
  return status;
}

Status WriteAs(Store& store, const CheckpointCode& code, const CheckpointState& state,
               const CheckpointKeep& keep, WrittenCheckpoint& written) {
  MOTLEY_RETURN_IF_ERROR(CheckState(state));
  if (uint64_t{code.data} + code.parity > kMostShards) {
    return Status::InvalidArgument(fmt::format("more than {} shards", kMostShards));
  }
  MOTLEY_ASSIGN_OR_RETURN(const ErasureCode erasure,
                          ErasureCode::Create(code.data, code.parity, code.technique));
  MOTLEY_RETURN_IF_ERROR(store.Lock());
  if (store.LocksNothing()) written.unlocked = store.Describe("");
  ShardHeader header = HeaderFor(erasure, state);
  const PayloadSource source = SourceOf(header, state);
  header.id = source.Id(header);
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  MOTLEY_ASSIGN_OR_RETURN(const Way way, MakeWay(store, scan, header, written.notes));
  if (way.there) {
    MOTLEY_RETURN_IF_ERROR(Acknowledge(store, header, way, written.left_out));
  } else {
    MOTLEY_RETURN_IF_ERROR(WriteNew(store, erasure, header, source, way, written.left_out));
  }
  written.survives = code.parity - static_cast<uint32_t>(written.left_out.size());
  if (!way.there) Prune(store, keep.newest, state.step, written.survives);
  return Status::Ok();
}

}  // namespace

Status WriteCheckpoint(Store& store, const CheckpointCode& code, const CheckpointState& state,
                       const CheckpointKeep& keep, WrittenCheckpoint* written) {
  WrittenCheckpoint mine;
  WrittenCheckpoint& result = written != nullptr ? *written : mine;
  result = {};
  Status status = WriteAs(store, code, state, keep, result);
  if (status.code() == StatusCode::kResource) {
    const std::vector<uint64_t> gone = MakeRoom(store, state.step, keep.newest);
    if (!gone.empty()) {
      result.notes.push_back(
          fmt::format("deleted the older {} {} to free space for the one of step {}",
                      gone.size() == 1 ? "checkpoint of step" : "checkpoints of steps",
                      fmt::join(gone, ", "), state.step));
      result.left_out.clear();
      status = WriteAs(store, code, state, keep, result);
    }
  }
  return status.ok() ? status
                     : status.WithContext(fmt::format("checkpoint of step {}", state.step));
}

}  // namespace motley
