// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/shard_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "runtime/memory_need.h"

namespace motley {

void ShardReader::Fetch(Part part, uint64_t version, Fetched fetched) {
  std::set<uint32_t> all;
  for (uint32_t number = 0; number < placement_.shards().size(); ++number) all.insert(number);
  Fetch(part, version, all, std::move(fetched));
}

void ShardReader::Fetch(Part part, uint64_t version, const std::set<uint32_t>& shards,
                        Fetched fetched) {
  MOTLEY_ASSERT(fetched_ == nullptr && !shards.empty());
  fetched_ = std::move(fetched);
  part_ = part;
  version_ = version;
  id_ += 2;
  asked_.clear();
  came_.assign(placement_.shards().size(), 0);
  for (const uint32_t number : shards) {
    const WorkerId owner = placement_.shards()[number].owner;
    asked_[number] = owner;
    wire::ShardFetchT fetch;
    fetch.shard = number;
    fetch.state = part == Part::kValuesAndState;
    fetch.sum = part == Part::kSum;
    fetch.log = part == Part::kValuesAndLog;
    fetch.id = id_;
    placement_.Tell(owner, fetch);
  }
}

void ShardReader::Finish(Result<ShardState> state) {
  parameters_ = arrays_ = nullptr;
  std::exchange(fetched_, nullptr)(std::move(state));
}

Result<std::span<std::byte>> ShardReader::BeginState(WorkerId worker, const Header& header) {
  // Others belong to a fetch that was given up.
  if (!Expects(worker, header)) return std::span<std::byte>();
  const size_t size = placement_.route().parameters(header.shard);
  const size_t all = placement_.count();
  constexpr size_t kMostArrays = 8;
  const size_t arrays =
      parameters_ == nullptr ? std::max(header.total / size, size_t{1}) - 1 : arrays_->size() / all;
  const size_t floats = header.length / sizeof(float);
  const bool fits = header.total == size * (1 + arrays) && arrays <= kMostArrays &&
                    header.version == version_ && header.offset == came_[header.shard] &&
                    floats * sizeof(float) == header.length && floats > 0 &&
                    floats <= header.total - header.offset;
  if (!fits) return Status::DataError("a piece of a shard's state that does not fit");
  return OrNoMemory("a copy of the shards", [&]() -> Result<std::span<std::byte>> {
    if (parameters_ == nullptr) {
      arrays_ = std::make_shared<std::vector<float>>(arrays * all);
      parameters_ = std::make_shared<std::vector<float>>(all);
    }
    slices_[worker].resize(floats);
    return std::as_writable_bytes(std::span(slices_[worker]));
  });
}

bool ShardReader::AllCame() const {
  const size_t arrays = 1 + arrays_->size() / parameters_->size();
  return std::all_of(asked_.begin(), asked_.end(), [&](const auto& each) {
    return came_[each.first] == arrays * placement_.route().parameters(each.first);
  });
}

Status ShardReader::FinishState(WorkerId worker, const Header& header) {
  if (!Expects(worker, header)) return Status::Ok();
  const Route& route = placement_.route();
  const size_t size = route.parameters(header.shard);
  // The slice may have the end of one array and the begin of the next.
  for (std::span<const float> slice = slices_[worker]; !slice.empty();) {
    const size_t array = came_[header.shard] / size;
    const size_t at = came_[header.shard] % size;
    const size_t count = std::min(slice.size(), size - at);
    float* to =
        array == 0 ? parameters_->data() : arrays_->data() + (array - 1) * placement_.count();
    std::copy_n(slice.begin(), count, to + route.begin(header.shard) + at);
    came_[header.shard] += count;
    slice = slice.subspan(count);
  }
  if (!AllCame()) return Status::Ok();
  Finish(ShardState{version_, parameters_, header.step,
                    part_ == Part::kValuesAndState ? arrays_ : nullptr});
  return Status::Ok();
}

}  // namespace motley
