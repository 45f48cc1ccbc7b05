// SPDX-License-Identifier: Apache-2.0
// The open update of shards that workers hold, as the coordinator follows it: which rows and
// vectors all shards have, which nodes have the sum, and which have applied it. Loop thread only.
//
//   Open               ShardOpen
//   OnRow, OnSummed    a row is whole in every shard, and (exact rows) every shard has its sum:
//   hooks EndSum             lists and approximate sums: ShardFinish, and each shard has its sum;
//                      then the owner and each follower have the sum: `summed`; the owner is
//                      enough if followers read the new values
//   Apply              ShardApply, and all have applied it, or have the new values: `applied`
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/tally.h"
#include "coding/code_form.h"
#include "runtime/holders/shard_placement.h"
#include "transport/wire/control.h"

namespace motley {

class ShardUpdate {
 public:
  struct Hooks {
    // All shards without a sum have this row of the open update, or this vector of a list.
    std::function<void(const wire::ShardRowT&)> whole;
    std::function<void()> decodable;  // All shards have the sum of the open update.
    // The signs with which a node logs an attempt at a step; null: nothing is logged.
    std::function<uint64_t(StepId, uint32_t attempt, WorkerId node)> signs;
  };
  // The sum of the open update in all shards.
  struct Sum {
    Tally tally;
    double amplification = 0;
    double squares = 0;
    std::vector<double> weights;  // An approximate sum has these, as in ApproximateSum.
    std::vector<double> coverage;
    double error = 0;
  };
  using Summed = std::function<void(const Sum&)>;
  // kCancelled: the update was taken back, because part of the next version is lost.
  using Applied = std::function<void(const Status&)>;

  // `placement` is borrowed. `keep_rows` is as in DecodeLimits.
  ShardUpdate(ShardPlacement& placement, bool keep_rows, Hooks hooks)
      : placement_(placement), keep_rows_(keep_rows), hooks_(std::move(hooks)) {}

  // An update starts, or starts again. kResource: the code does not fit into a message.
  Status Open(const Update& update, uint32_t attempt, const std::shared_ptr<const CodeForm>& form);
  bool IsOpen(StepId step, uint32_t attempt) const {
    return open_ && open_->step == step && open_->attempt == attempt;
  }
  uint32_t attempt() const { return open_ ? open_->attempt : 0; }
  // Ends the sum of the open update and reports it: that of lists or decodable rows, or the best
  // one of the rows that are whole. `summed` does not run if the update starts again.
  void EndSum(bool approximately, Summed summed);
  // Applies the update everywhere. `applied` runs once, when all shards have the next version:
  // kDataError: training has diverged.
  void Apply(wire::ShardApplyT apply, Applied applied);
  // The open attempt can be applied: all shards have its sum.
  bool CanApply(StepId step, uint32_t attempt) const {
    return IsOpen(step, attempt) && sums_ == shards_.size() && applied_ == nullptr;
  }
  bool summed() const { return open_ && sums_ == shards_.size(); }  // All shards have their sum.
  bool applying() const { return applied_ != nullptr; }
  // Followers read the new values, which takes as long as their links need.
  bool reading() const { return placement_.reads() && applying(); }

  // What nodes report. True: it brings the open update forward.
  Result<bool> OnRow(WorkerId worker, const wire::ShardRowT& row);
  bool OnSummed(WorkerId worker, const wire::ShardSummedT& summed);
  bool OnSafe(WorkerId worker, const wire::ShardSafeT& safe);
  bool OnApplied(WorkerId worker, const wire::ShardAppliedT& applied);

  // A worker holds nothing any more. Check follows.
  void Lost(WorkerId worker) { code_.nodes.erase(worker); }
  // The shard has another owner. False: the sum is lost with the one before, or the next version
  // is, so the update has to start again.
  bool Moved(uint32_t shard) const;
  // The update is not open any more. Returns the hook of Apply if that began, and otherwise null.
  Applied GiveUp();
  // Goes on if all nodes have done their part.
  void Check();
  // The nodes that the open update waits for, once others have done their part.
  std::set<WorkerId> Awaited() const;

  // The version that all shards have.
  uint64_t version() const { return version_; }
  void SetVersion(uint64_t version) { version_ = version; }

 private:
  struct Shard {
    std::optional<wire::ShardSummedT> sum;
    std::set<WorkerId> have_sum;  // The owner and followers.
    std::set<WorkerId> applied;
    size_t behind = 0;  // Answers that it lacks, although half of the shards have them.
  };
  struct Code {  // The last code, and the nodes that have it.
    std::shared_ptr<const CodeForm> form;
    std::set<WorkerId> nodes;
  };
  void SendOpen(WorkerId node, wire::ShardOpenT open) const;
  using Key = std::tuple<WorkerId, uint32_t, uint32_t>;  // Worker, order, row; rows: 0, 0, row.
  struct Came {
    std::set<uint32_t> shards;  // Those that have the row or vector.
    wire::ShardRowT newest;     // The report of the last one.
    bool whole = false;         // It was reported.
  };

  std::set<WorkerId> Missing(uint32_t shard) const;
  bool Suffices(const Came& came) const;
  void ReportWhole();
  bool Whole(RowId row) const;
  bool AllWhole() const;
  void Count();
  Sum Total() const;

  ShardPlacement& placement_;
  const bool keep_rows_;
  const Hooks hooks_;
  uint64_t version_ = 0;
  Code code_;
  std::optional<wire::ShardOpenT> open_;  // Without its code.
  std::map<Key, Came> came_;
  std::vector<Shard> shards_;
  size_t sums_ = 0;  // Shards that have their sum.
  Summed summed_;
  Applied applied_;
  Status apply_status_;
};

}  // namespace motley
