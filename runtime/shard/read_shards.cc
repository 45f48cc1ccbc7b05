// SPDX-License-Identifier: Apache-2.0
// Reads remote shards back to the coordinator.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "runtime/memory_need.h"
#include "runtime/shard/remote_shards.h"

namespace motley {

bool RemoteShards::reachable() const {
  return std::all_of(shards_.begin(), shards_.end(),
                     [this](const Shard& shard) { return hooks_.node(shard.owner).has_value(); });
}

void RemoteShards::Fetch(Part part, std::function<void(Result<State>)> fetched) {
  MOTLEY_ASSERT(fetched_ == nullptr && applied_ == nullptr);
  fetched_ = std::move(fetched);
  fetched_part_ = part;
  ++fetch_id_;
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    shards_[number].fetched.clear();
    shards_[number].came = 0;
    wire::ShardFetchT fetch;
    fetch.shard = number;
    fetch.state = part == Part::kValuesAndState;
    fetch.sum = part == Part::kSum;
    fetch.id = fetch_id_;
    Tell(shards_[number].owner, fetch);
  }
}

Result<std::span<std::byte>> RemoteShards::BeginState(WorkerId worker, const Header& header) {
  Shard* shard = OwnedBy(worker, header.shard);
  if (shard == nullptr || fetched_ == nullptr || header.row_id != fetch_id_) {
    return std::span<std::byte>();  // It belongs to a fetch that was given up.
  }
  const size_t count = setup_.route.parameters(header.shard);
  const size_t floats = header.length / sizeof(float);
  constexpr size_t kMostArrays = 8;
  const bool fits = header.total % count == 0 && header.total <= count * (1 + kMostArrays) &&
                    header.version == version_ && header.offset == shard->came &&
                    floats * sizeof(float) == header.length && floats > 0 &&
                    floats <= header.total - shard->came;
  if (!fits) return Status::DataError("a piece of a shard's state that does not fit");
  if (shard->came == 0) {
    MOTLEY_RETURN_IF_ERROR(OrNoMemory("a copy of a shard", [&] {
      shard->fetched.resize(header.total);
      return Status::Ok();
    }));
    shard->optimizer_steps = header.step;
  }
  if (header.total != shard->fetched.size()) {
    return Status::DataError("pieces of a shard's state that do not fit each other");
  }
  return std::as_writable_bytes(std::span(shard->fetched).subspan(shard->came, floats));
}

Status RemoteShards::FinishState(WorkerId worker, const Header& header) {
  Shard* shard = OwnedBy(worker, header.shard);
  if (shard == nullptr || fetched_ == nullptr || header.row_id != fetch_id_) return Status::Ok();
  shard->came += header.length / sizeof(float);
  for (const Shard& each : shards_) {
    if (each.fetched.empty() || each.came < each.fetched.size()) return Status::Ok();
  }
  const Route& route = setup_.route;
  const size_t arrays = shards_[0].fetched.size() / route.parameters(0) - 1;
  size_t count = 0;
  for (size_t number = 0; number < shards_.size(); ++number) count += route.parameters(number);
  const auto parameters = std::make_shared<std::vector<float>>(count);
  const auto state = std::make_shared<std::vector<float>>(arrays * count);
  for (size_t number = 0; number < shards_.size(); ++number) {
    std::vector<float> all = std::exchange(shards_[number].fetched, {});
    const size_t size = route.parameters(number);
    if (all.size() != size * (1 + arrays)) {
      FinishFetch(Status::DataError("shards whose optimizers have other arrays"));
      return Status::Ok();
    }
    const auto copy = [&](size_t from, std::vector<float>& to, size_t at) {
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(from), size,
                  to.begin() + static_cast<std::ptrdiff_t>(at));
    };
    copy(0, *parameters, route.begin(number));
    for (size_t array = 0; array < arrays; ++array) {
      copy((1 + array) * size, *state, array * count + route.begin(number));
    }
  }
  FinishFetch(State{version_, parameters, shards_[0].optimizer_steps,
                    fetched_part_ == Part::kValuesAndState ? state : nullptr});
  return Status::Ok();
}

void RemoteShards::FinishFetch(Result<State> state) {
  const auto fetched = std::exchange(fetched_, nullptr);
  fetched(std::move(state));
}

}  // namespace motley
