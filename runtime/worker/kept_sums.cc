// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/kept_sums.h"

#include <utility>

#include "coding/decode/part_sums.h"
#include "runtime/memory_need.h"

namespace motley {

bool KeptSums::Has(uint64_t version, PartitionId begin, PartitionId end) const {
  const auto at = runs_.find(begin);
  return version == version_ && at != runs_.end() && at->second.end == end;
}

Result<KeptSums::Sum> KeptSums::Room(uint64_t version) {
  if (version != version_) {
    for (auto& [begin, run] : runs_) spare_.push_back(std::move(run.sum));
    runs_.clear();
    version_ = version;
  }
  if (!spare_.empty()) {
    Sum room = std::move(spare_.back());
    spare_.pop_back();
    if (room.use_count() == 1) return room;  // Otherwise something on the device still reads it.
    --made_;
  }
  ++made_;
  MOTLEY_RETURN_IF_ERROR(CheckMemory("a worker that keeps what it computed", parameters_,
                                     WorkerVectors() + made_, memory_bytes_));
  return HostVector::Make("a sum that is kept", VectorLength(parameters_), memory_);
}

void KeptSums::Keep(PartitionId begin, PartitionId end, Sum sum, const Tally& tally) {
  runs_[begin] = {end, std::move(sum), tally};
}

std::vector<KeptSums::Share> KeptSums::TakeFrom(const WorkOrder::What& row,
                                                std::vector<PartitionTerm>& left) const {
  std::vector<Share> shares;
  if (row.version != version_ || runs_.empty()) return shares;
  for (const PartitionTerm& term : row.terms) {
    PartitionId from = term.begin;  // The first partition that no kept sum covers.
    for (PartitionId p = term.begin; p < term.end;) {
      const auto at = runs_.find(p);
      if (at == runs_.end() || at->second.end > term.end) {
        ++p;
        continue;
      }
      if (from < p) left.push_back({from, p, term.coefficient, term.other_parts});
      std::vector<Complex> weights = {term.coefficient};
      weights.insert(weights.end(), term.other_parts.begin(), term.other_parts.end());
      shares.push_back({at->second.sum, at->second.tally, std::move(weights)});
      from = p = at->second.end;
    }
    if (from < term.end) left.push_back({from, term.end, term.coefficient, term.other_parts});
  }
  return shares;
}

void KeptSums::Add(Device& device, std::vector<Share> shares, Sum answer,
                   std::span<const size_t> ends, std::function<void(const Status&)> done) {
  const auto work = std::make_shared<std::vector<Share>>(std::move(shares));
  device.Submit(
      0,
      [work, answer, ends, &parallel = device.parallel()] {
        for (const Share& share : *work) {
          AddParts(Field::kComplexPacked, share.weights, *share.sum, *answer, parallel, ends);
        }
        return Status::Ok();
      },
      [work, done = std::move(done)](const Status& status) {
        work->clear();
        done(status);
      });
}

}  // namespace motley
