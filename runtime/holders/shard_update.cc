// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/shard_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coding/form_bytes.h"

namespace motley {

Status ShardUpdate::Open(const Update& update, uint32_t attempt,
                         const std::shared_ptr<const CodeForm>& form) {
  wire::ShardOpenT open;
  open.step = update.id;
  open.base_version = update.base_version;
  open.attempt = attempt;
  open.lists = form == nullptr;
  open_ = open;
  came_.clear();
  shards_.assign(placement_.shards().size(), {});
  sums_ = 0;
  summed_ = nullptr;
  const std::set<WorkerId> nodes = placement_.nodes();
  if (form == nullptr) {
    for (const WorkerId node : nodes) SendOpen(node, open);
    return Status::Ok();
  }
  if (form != code_.form) code_ = {form, {}};
  // Only nodes that do not have the code are sent it.
  wire::ShardOpenT with_code = open;
  open.same_code = true;
  if (!std::includes(code_.nodes.begin(), code_.nodes.end(), nodes.begin(), nodes.end())) {
    const Bytes code = EncodeForm(*form);
    MOTLEY_RETURN_IF_ERROR(CheckSendable(FrameKind::kControl, code.size() + 256)
                               .WithContext("the code does not fit into a message to its shards"));
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
    with_code.code.assign(bytes, bytes + code.size());
  }
  for (const WorkerId node : nodes) {
    const bool first = code_.nodes.insert(node).second;
    SendOpen(node, first ? with_code : open);
  }
  return Status::Ok();
}

void ShardUpdate::SendOpen(WorkerId node, wire::ShardOpenT open) const {
  if (hooks_.signs) open.signs = hooks_.signs(open.step, open.attempt, node);
  placement_.Tell(node, open);
}

// --- Sums ---

bool ShardUpdate::Whole(RowId row) const {
  const auto found = came_.find({0, 0, row});
  return found != came_.end() && found->second.shards.size() == shards_.size();
}

// A shard that has its sum takes no more answers, so a row that comes later is missing there.
bool ShardUpdate::Suffices(const Came& came) const {
  if (came.shards.size() + sums_ < shards_.size()) return false;
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    if (!shards_[number].sum && !came.shards.contains(number)) return false;
  }
  return true;
}

// A hook may open the update again.
void ShardUpdate::ReportWhole() {
  const auto [step, attempt] = std::pair(open_->step, open_->attempt);
  std::vector<wire::ShardRowT> rows;
  for (auto& [key, came] : came_) {
    if (came.whole || !Suffices(came)) continue;
    came.whole = true;
    rows.push_back(came.newest);
  }
  for (const wire::ShardRowT& row : rows) {
    if (IsOpen(step, attempt)) hooks_.whole(row);
  }
}

bool ShardUpdate::AllWhole() const {
  for (RowId row = 0; row < code_.form->workers; ++row) {
    if (!code_.form->rows[row].empty() && !Whole(row)) return false;
  }
  return true;
}

// A row may have come from other workers in other shards.
Result<bool> ShardUpdate::OnRow(WorkerId worker, const wire::ShardRowT& row) {
  if (!placement_.Owns(worker, row.shard) || !IsOpen(row.step, row.attempt)) return false;
  const bool lists = open_->lists;
  if (!lists && row.row >= code_.form->workers) {
    return Status::DataError(fmt::format("row {} of {} is whole", row.row, code_.form->workers));
  }
  Came& came = came_[lists ? Key{row.worker, row.order, row.row} : Key{0, 0, row.row}];
  std::set<uint32_t>& where = came.shards;
  if (!where.insert(row.shard).second) return false;
  if (2 * where.size() - 2 >= shards_.size()) {
    --shards_[row.shard].behind;
  } else if (2 * where.size() >= shards_.size()) {
    for (uint32_t each = 0; each < shards_.size(); ++each) {
      if (!where.contains(each)) ++shards_[each].behind;
    }
  }
  came.newest = row;
  if (came.whole || !Suffices(came)) return true;
  came.whole = true;
  hooks_.whole(row);
  // Sums that may end with any rows do not end by themselves. All rows are enough.
  if (!lists && keep_rows_ && IsOpen(row.step, row.attempt) && AllWhole()) hooks_.decodable();
  return true;
}

// The step needs no more answers when every shard has its sum.
bool ShardUpdate::OnSummed(WorkerId worker, const wire::ShardSummedT& summed) {
  if (!placement_.Owns(worker, summed.shard) || !IsOpen(summed.step, summed.attempt)) return false;
  Shard& shard = shards_[summed.shard];
  const bool first = !shard.sum;
  const bool last = first && ++sums_ == shards_.size();
  shard.sum = summed;
  shard.have_sum.insert(worker);
  // Other sums end when the step is committed.
  if (first && !open_->lists && !keep_rows_) last ? hooks_.decodable() : ReportWhole();
  Check();
  return first;
}

bool ShardUpdate::OnSafe(WorkerId worker, const wire::ShardSafeT& safe) {
  const std::vector<ShardPlacement::Shard>& placed = placement_.shards();
  if (safe.shard >= placed.size() || !placed[safe.shard].followers.contains(worker)) return false;
  if (!IsOpen(safe.step, safe.attempt)) return false;
  const bool first = shards_[safe.shard].have_sum.insert(worker).second;
  Check();
  return first;
}

void ShardUpdate::EndSum(bool approximately, Summed summed) {
  if (!open_) return;  // The update starts again.
  summed_ = std::move(summed);
  const bool any_rows = !open_->lists && (approximately || keep_rows_);
  if (!open_->lists && !any_rows) return Check();  // Exact sums end by themselves.
  wire::ShardFinishT finish;
  finish.step = open_->step;
  finish.attempt = open_->attempt;
  for (RowId row = 0; any_rows && row < code_.form->workers; ++row) {
    finish.rows.push_back(Whole(row));
  }
  placement_.TellAll(finish);
}

ShardUpdate::Sum ShardUpdate::Total() const {
  Sum total;
  const wire::ShardSummedT& first = *shards_.front().sum;
  total.tally = {FromWire(first.loss), FromWire(first.weight)};
  total.weights = first.weights;
  total.coverage = first.coverage;
  total.error = first.error;
  for (const Shard& shard : shards_) {
    total.amplification = std::max(total.amplification, shard.sum->amplification);
    total.squares += shard.sum->squares;
  }
  return total;
}

// --- The next version ---

void ShardUpdate::Apply(wire::ShardApplyT apply, Applied applied) {
  MOTLEY_ASSERT(open_ && sums_ == shards_.size() && applied_ == nullptr);
  applied_ = std::move(applied);
  apply_status_ = Status::Ok();
  apply.step = open_->step;
  apply.attempt = open_->attempt;
  placement_.TellAll(apply);
}

bool ShardUpdate::OnApplied(WorkerId worker, const wire::ShardAppliedT& applied) {
  if (applied.shard >= shards_.size() || applied_ == nullptr) return false;
  if (applied.step != open_->step) return false;
  if (!applied.finite) {
    apply_status_ = Status::DataError("training diverged");
  } else if (!applied.error.empty()) {
    apply_status_ = Status::Resource(applied.error);
  }
  const bool first = shards_[applied.shard].applied.insert(worker).second;
  Check();
  return first;
}

// The nodes that have not done their part for the shard.
std::set<WorkerId> ShardUpdate::Missing(uint32_t number) const {
  const ShardPlacement::Shard& placed = placement_.shards()[number];
  const Shard& shard = shards_[number];
  // Followers that read have nothing to read before owners applied the update, or if one could not.
  const bool all = !placement_.reads() || (applying() && apply_status_.ok());
  std::set<WorkerId> missing =
      all ? placement_.coming().WithoutThem(number, placed) : std::set<WorkerId>{placed.owner};
  for (const WorkerId node : applying() ? shard.applied : shard.have_sum) missing.erase(node);
  return missing;
}

void ShardUpdate::Check() {
  if (!open_) return;
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    if (!Missing(number).empty()) return;
  }
  if (applying()) {
    if (apply_status_.ok()) Count();
    open_.reset();
    std::exchange(applied_, nullptr)(apply_status_);
  } else if (summed_ != nullptr) {
    std::exchange(summed_, nullptr)(Total());
  }
}

// The next version counts.
void ShardUpdate::Count() {
  version_ = open_->step + 1;
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    for (const WorkerId node : shards_[number].applied) placement_.coming().CaughtUp(number, node);
  }
}

// --- Nodes that are lost or late ---

// A sum is safe only if nobody still waits for the lost owner to send it. New values are safe if
// the new owner has them.
bool ShardUpdate::Moved(uint32_t number) const {
  if (!open_) return true;
  const Shard& shard = shards_[number];
  const ShardPlacement::Shard& placed = placement_.shards()[number];
  if (applying()) return !placement_.reads() || shard.applied.contains(placed.owner);
  return shard.sum && placed.HeldOnlyBy(shard.have_sum);
}

ShardUpdate::Applied ShardUpdate::GiveUp() {
  open_.reset();
  return std::exchange(applied_, nullptr);
}

std::set<WorkerId> ShardUpdate::Awaited() const {
  std::set<WorkerId> awaited;
  if (!open_) return placement_.Unsettled();
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    const Shard& shard = shards_[number];
    const ShardPlacement::Shard& placed = placement_.shards()[number];
    if (sums_ < shards_.size()) {
      // Before most sums are there, an owner is behind if it lacks an answer that most others have.
      const bool behind = 2 * sums_ >= shards_.size() || shard.behind > 0;
      if (!shard.sum && behind) awaited.insert(placed.owner);
      continue;
    }
    awaited.merge(Missing(number));
  }
  return awaited;
}

}  // namespace motley
