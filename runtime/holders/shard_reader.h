// SPDX-License-Identifier: Apache-2.0
// Reads shards that workers hold back to the coordinator. Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "runtime/holders/shard_placement.h"
#include "transport/wire/header.h"

namespace motley {

class ShardReader {
 public:
  enum class Part : uint8_t { kValues, kValuesAndState, kSum, kValuesAndLog };
  // Two readers of the same nodes number their fetches apart.
  enum class Ids : uint8_t { kOdd, kEven };
  using Fetched = std::function<void(Result<ShardState>)>;

  // `placement` is borrowed.
  explicit ShardReader(ShardPlacement& placement, Ids ids = Ids::kOdd)
      : placement_(placement), id_(ids == Ids::kOdd ? 1 : 2) {}

  // Asks all owners for this part of a version, or those of these shards: the rest of the state is
  // then 0. One fetch at a time.
  void Fetch(Part part, uint64_t version, Fetched fetched);
  void Fetch(Part part, uint64_t version, const std::set<uint32_t>& shards, Fetched fetched);
  bool fetching() const { return fetched_ != nullptr; }
  void Finish(Result<ShardState> state);

  // The worker was asked for the shard by this number.
  bool Expects(WorkerId worker, uint32_t shard, uint32_t id) const {
    const auto asked = asked_.find(shard);
    return asked != asked_.end() && asked->second == worker && id == id_;
  }
  bool Takes(const Header& header) const { return (header.row_id - id_) % 2 == 0; }
  // A slice of a state. kDataError: it makes no sense.
  Result<std::span<std::byte>> BeginState(WorkerId worker, const Header& header);
  Status FinishState(WorkerId worker, const Header& header);

 private:
  using Floats = std::shared_ptr<std::vector<float>>;

  bool AllCame() const;
  bool Expects(WorkerId worker, const Header& header) const {
    return fetching() && Expects(worker, header.shard, header.row_id);
  }

  ShardPlacement& placement_;
  Fetched fetched_;
  Part part_ = Part::kValues;
  uint64_t version_ = 0;
  uint32_t id_;
  Floats parameters_, arrays_;
  std::map<uint32_t, WorkerId> asked_;  // The owner of each shard. Another may own it by now.
  std::vector<size_t> came_;            // Floats of each shard.
  // The slice that arrives from each worker. It may outlast its fetch.
  std::map<WorkerId, std::vector<float>> slices_;
};

}  // namespace motley
