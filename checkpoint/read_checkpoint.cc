// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/payload.h"
#include "checkpoint/shard_set.h"
#include "checkpoint/stripe_reader.h"
#include "checkpoint/verify_set.h"

namespace motley {
namespace {

std::span<std::byte> BytesOf(std::vector<float>& values) {
  return std::as_writable_bytes(std::span(values));
}

// Checks, before memory is allocated, that the files are large enough for what the header claims.
Status CheckSizes(const ShardSet& set) {
  uint64_t there = 0;
  for (const ShardPlace& place : set.places) there += place.usable ? place.size_bytes : 0;
  const uint64_t wanted = ShardLayout(set.header).payload_bytes();
  if (there >= wanted) return Status::Ok();
  return Status::NotDecodable(
      fmt::format("its files have {} bytes in all, but its content needs {}", there, wanted));
}

void AddNotes(Store& store, const ShardSet& set, const StripeReader& reader,
              std::vector<std::string>& notes) {
  for (uint32_t shard = 0; shard < set.places.size(); ++shard) {
    const ShardPlace& place = set.places[shard];
    const uint64_t used = reader.used(shard);
    const uint64_t lost = reader.lost(shard);
    if (place.whole && lost == 0) continue;
    const std::string name = fmt::format("shard {} ({})", shard, store.Describe(place.path));
    std::string text = fmt::format("checkpoint of step {} was restored ", set.header.step);
    if (place.whole) {
      text += fmt::format("though {} of {} blocks of {} were damaged or could not be read", lost,
                          used + lost, name);
    } else if (used > 0 && lost == 0) {
      text += fmt::format("though {}: {}; its blocks were used", name, place.problem);
    } else if (used > 0) {
      text += fmt::format("though {}: {}; {} of {} blocks were used", name, place.problem, used,
                          used + lost);
    } else {
      text += fmt::format("without {}: {}", name, place.problem);
    }
    notes.push_back(text + "; motley checkpoint restore rebuilds it");
  }
}

Result<CheckpointState> Restore(Store& store, const ShardSet& set,
                                std::vector<std::string>* notes) {
  const ShardHeader& header = set.header;
  MOTLEY_RETURN_IF_ERROR(CheckSizes(set));
  MOTLEY_ASSIGN_OR_RETURN(StripeReader reader, StripeReader::Open(store, set));
  std::string description(header.description_bytes, '\0');
  auto parameters = std::make_shared<std::vector<float>>(header.parameters);
  auto optimizer_state = std::make_shared<std::vector<float>>(header.optimizer_state);
  const PayloadSink sink(header, {std::as_writable_bytes(std::span(description)),
                                  BytesOf(*parameters), BytesOf(*optimizer_state)});
  PayloadHash hash(header);
  for (uint64_t stripe = 0; stripe < reader.layout().stripes(); ++stripe) {
    if (const Status status = reader.ReadData(stripe); !status.ok()) {
      return reader.read_error().ok() ? status : reader.read_error();
    }
    for (uint32_t i = 0; i < header.code.data; ++i) {
      hash.Add(reader.block(i));
      sink.Copy(reader.layout().PayloadOffset(stripe, i), reader.block(i));
    }
  }
  if (hash.Value() != header.id) {
    return NotTogether();
  }
  if (notes != nullptr) AddNotes(store, set, reader, *notes);
  CheckpointState state;
  state.job = header.job;
  state.step = header.step;
  state.seed = header.seed;
  state.description = std::move(description);
  state.parameters = std::move(parameters);
  state.optimizer_steps = header.optimizer_steps;
  state.optimizer_state = std::move(optimizer_state);
  return state;
}

// Adds to the error which checkpoint it was, and the state of each shard if that is the reason.
Status Explain(Store& store, const ShardSet& set, const Status& status) {
  if (status.code() != StatusCode::kNotDecodable && !IsReadError(status)) {
    return status.WithContext(fmt::format("checkpoint of step {}", set.header.step));
  }
  const auto report = VerifySet(store, set);
  if (!report.ok()) return report.status();
  // The report finds nothing lost, so reading failed only for a moment.
  return report->restorable() ? status : TooMuchLost(*report);
}

// Adds to the error the newest of `sets` (older ones) that can be restored and how to use it. Users
// decide about going back over steps that were done.
Status WithWayOn(Store& store, std::span<const ShardSet> sets, const Status& why) {
  const std::string first = IsReadError(why)
                                ? "the newest checkpoint cannot be read, though it may be whole"
                                : "the newest checkpoint is lost";
  for (const ShardSet& set : sets) {
    const auto restorable = CanBeRestored(store, set);
    if (!restorable.ok() || !*restorable) continue;
    const uint64_t step = set.header.step;
    return why.WithContext(
        fmt::format("{}. To go on from the one before it, of step {}, use `resume` {} "
                    "`resume_step` {} (the "
                    "first checkpoint then keeps its files under other names)",
                    first, step, store.Describe(""), step));
  }
  return why.WithContext(first + ", and no older one can be restored");
}

// An error for the newest step after `step` that was complete once but has no readable header; OK
// if there is none.
Status HeadlessAfter(Store& store, const ShardScan& scan, uint64_t step) {
  const auto& headless = scan.headless_steps;
  for (const ShardFile& file : scan.files) {
    const bool is_headless =
        std::find(headless.begin(), headless.end(), file.step) != headless.end();
    if (file.step <= step || !is_headless || file.marked) continue;
    const std::string context = fmt::format("checkpoint of step {}", file.step);
    if (!file.unread.ok()) return file.unread.WithContext(context);
    return Status::NotDecodable(fmt::format("{}: no header of its files can be read, as in {}",
                                            context, store.Describe(file.path)));
  }
  return Status::Ok();
}

Result<CheckpointState> ReadNewest(Store& store, const ShardScan& scan,
                                   std::vector<std::string>* notes) {
  Status lost;   // Error of a set whose step other sets may still restore.
  Status first;  // First set that was passed over.
  uint64_t step = 0;
  for (size_t i = 0; i < scan.sets.size(); ++i) {
    const ShardSet& set = scan.sets[i];
    if (!lost.ok() && set.header.step != step) {
      return WithWayOn(store, std::span(scan.sets).subspan(i), lost);
    }
    step = set.header.step;
    if (const Status headless = HeadlessAfter(store, scan, step); !headless.ok()) {
      return WithWayOn(store, std::span(scan.sets).subspan(i), headless);
    }
    auto state = Restore(store, set, notes);
    if (state.ok()) return state;
    const Status why = Explain(store, set, state.status());
    if (!set.IsUnfinished() || IsReadError(why)) {
      if (lost.ok()) lost = why;
      continue;
    }
    if (notes != nullptr) notes->push_back("passed over: " + why.ToString());
    if (first.ok()) first = why;
  }
  if (!lost.ok()) return WithWayOn(store, {}, lost);
  if (!first.ok()) return first;
  return ChooseSet(store, scan, {}).status();
}

}  // namespace

Result<CheckpointState> ReadCheckpoint(Store& store, std::optional<uint64_t> step,
                                       std::vector<std::string>* notes) {
  MOTLEY_ASSIGN_OR_RETURN(const ShardScan scan, ScanShards(store));
  // Otherwise an older checkpoint would be used in place of a newer program's.
  if (!step && !scan.newer_version.empty()) return Status::Conflict(scan.newer_version);
  if (!step) return ReadNewest(store, scan, notes);
  Status first;
  for (const ShardSet& set : scan.sets) {
    if (set.header.step != *step) continue;
    auto state = Restore(store, set, notes);
    if (state.ok()) return state;
    const Status why = Explain(store, set, state.status());
    if (first.ok() || IsReadError(why)) first = why;
  }
  if (!first.ok()) return first;
  return ChooseSet(store, scan, step).status();
}

}  // namespace motley
