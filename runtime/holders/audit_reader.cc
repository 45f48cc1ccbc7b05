// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/audit_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/random.h"
#include "runtime/links/messages.h"

namespace motley {

uint64_t SignsOfNode(uint64_t secret, StepId step, uint32_t attempt, WorkerId node) {
  Random random(secret, Stream::kLogSigns, step, (uint64_t{attempt} << 32) + node);
  return random.Next64() | 1;
}

void AuditReader::Read(StepId step, uint32_t attempt, uint64_t version, Reported reported) {
  reported_ = std::move(reported);
  report_ = {};
  const std::vector<ShardPlacement::Shard>& shards = placement_.shards();
  for (uint32_t shard = 0; shard < shards.size(); ++shard) {
    const WorkerId owner = shards[shard].owner;
    report_.shards.push_back({.owner = owner,
                              .trusted = owner >= workers_,
                              .signs = SignsOfNode(secret_, step, attempt, owner),
                              .sum = 0});
    missing_.insert(shard);
  }
  values_.Fetch(ShardReader::Part::kValuesAndLog, version, [this](Result<ShardState> read) {
    if (!read.ok()) return GiveUp(read.status());
    report_.parameters = std::move(read->parameters);
    FinishIfAll();
  });
}

Status AuditReader::OnLog(WorkerId worker, const wire::ShardLogT& log) {
  // Reports of a step that was given up are ignored.
  const bool expected = reading() && values_.Expects(worker, log.shard, log.id);
  if (!expected || missing_.erase(log.shard) == 0) return Status::Ok();
  if (!log.complete) {
    GiveUp(Status::Unavailable(
        fmt::format("the node that sums shard {} has no record of its answers", log.shard)));
    return Status::Ok();
  }
  if (!std::isfinite(log.sum)) return Status::DataError("a sketch of a sum that is not finite");
  report_.shards[log.shard].sum = log.sum;
  for (const auto& entry : log.entries) {
    if (entry->worker >= workers_) {
      return Status::DataError(fmt::format("an answer of worker {} was logged", entry->worker));
    }
    report_.answers.push_back({.worker = entry->worker,
                               .life = 0,
                               .row = entry->row,
                               .sketches = entry->sketches,
                               .tally = {FromWire(entry->loss), FromWire(entry->weight)},
                               .shard = log.shard});
  }
  FinishIfAll();
  return Status::Ok();
}

std::set<WorkerId> AuditReader::Awaited() const {
  std::set<WorkerId> owners;
  for (const OwnedShard& shard : report_.shards) owners.insert(shard.owner);
  return owners;
}

void AuditReader::FinishIfAll() {
  if (!missing_.empty() || report_.parameters == nullptr) return;
  std::exchange(reported_, nullptr)(std::exchange(report_, {}));
}

void AuditReader::GiveUp(const Status& why) {
  if (!reading()) return;
  const Reported reported = std::exchange(reported_, nullptr);
  missing_.clear();
  report_ = {};
  if (values_.fetching()) values_.Finish(why);
  reported(why);
}

}  // namespace motley
