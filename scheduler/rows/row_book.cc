// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rows/row_book.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

// Moves the assignments that match out of `from`, keeping the order.
template <typename Predicate>
std::vector<Assignment> Extract(std::vector<Assignment>& from, Predicate matches) {
  std::vector<Assignment> taken;
  std::erase_if(from, [&](const Assignment& assignment) {
    const bool out = matches(assignment);
    if (out) taken.push_back(assignment);
    return out;
  });
  return taken;
}

// Null if there is none.
template <typename Assignments>
auto* FindIn(Assignments& pending, WorkerId worker, RowId row) {
  const auto at = std::find_if(pending.begin(), pending.end(), [&](const Assignment& a) {
    return a.worker == worker && a.row == row;
  });
  return at == pending.end() ? nullptr : &*at;
}

}  // namespace

void RowBook::Open(const CodeForm& code) {
  rows_.assign(code.rows.size(), Row{});
  pending_.clear();
  given_.assign(given_.size(), 0);
  // An empty row needs no work, so it counts as arrived.
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i].arrived = code.rows[i].empty();
  not_arrived_ = static_cast<size_t>(
      std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return !row.arrived; }));
  due_known_ = false;
}

void RowBook::AwaitOwner(RowId row, Time due) {
  rows_[row].owner_due = std::max(rows_[row].owner_due, due);
  due_known_ = false;
}

void RowBook::OwnerGone(RowId row) {
  const Time due = std::exchange(rows_[row].owner_due, Time::min());
  if (due != Time::min()) due_known_ = false;
}

void RowBook::MarkArrived(RowId row) {
  if (std::exchange(rows_[row].arrived, true)) return;
  --not_arrived_;
  if (rows_[row].owner_due != Time::min()) due_known_ = false;
}

void RowBook::Unarrive(RowId row) {
  if (!std::exchange(rows_[row].arrived, false)) return;
  ++not_arrived_;
  due_known_ = false;
}

void RowBook::Add(const Assignment& assignment) {
  if (!assignment.overdue) next_due_ = std::min(next_due_, assignment.due);
  Row& row = rows_[assignment.row];
  if (!assignment.copy) ++row.attempts;
  ++row.pending;
  row.overdue += assignment.overdue ? 1 : 0;
  if (assignment.worker >= given_.size()) given_.resize(assignment.worker + 1, 0);
  ++given_[assignment.worker];
  pending_.push_back(assignment);
}

const Assignment* RowBook::Find(WorkerId worker, RowId row) const {
  if (!Pending(worker) || rows_[row].pending == 0) return nullptr;
  return FindIn(pending_, worker, row);
}

void RowBook::Count(const Assignment& taken) {
  Row& row = rows_[taken.row];
  --row.pending;
  row.overdue -= taken.overdue ? 1 : 0;
  --given_[taken.worker];
}

const Assignment* RowBook::LastOf(WorkerId worker) const {
  if (!Pending(worker)) return nullptr;
  const auto at = std::find_if(pending_.rbegin(), pending_.rend(),
                               [&](const Assignment& a) { return a.worker == worker; });
  return at == pending_.rend() ? nullptr : &*at;
}

std::optional<Assignment> RowBook::Take(WorkerId worker, RowId row) {
  const Assignment* const at = Find(worker, row);
  if (at == nullptr) return std::nullopt;
  const Assignment taken = *at;
  pending_.erase(pending_.begin() + (at - pending_.data()));
  Count(taken);
  Settled(taken.due);
  return taken;
}

std::vector<Assignment> RowBook::TakeAll(WorkerId worker) {
  if (!Pending(worker)) return {};
  due_known_ = false;
  std::vector<Assignment> taken =
      Extract(pending_, [&](const Assignment& a) { return a.worker == worker; });
  for (const Assignment& each : taken) Count(each);
  return taken;
}

std::vector<Assignment> RowBook::TakeOthers(RowId row) {
  std::vector<Assignment> others;
  for (size_t place = 0; rows_[row].pending > 0 && place < pending_.size();) {
    if (pending_[place].row != row) {
      ++place;
      continue;
    }
    others.push_back(pending_[place]);
    pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(place));
    Count(others.back());
    Settled(others.back().due);
    Shorten(others.back(), place);
  }
  return others;
}

void RowBook::Shorten(const Assignment& dropped, size_t place) {
  const auto same = [&](const Assignment& a) { return a.worker == dropped.worker; };
  const auto from = pending_.begin() + static_cast<ptrdiff_t>(place);
  if (std::none_of(pending_.begin(), from, same)) return;
  for (auto later = from; later != pending_.end(); ++later) {
    if (!same(*later)) continue;
    const double left = later->samples - dropped.own_samples;
    later->expected_seconds *= left / later->samples;
    later->samples = left;
  }
}

std::vector<Assignment> RowBook::TakeEverything() {
  due_known_ = false;
  for (const Assignment& each : pending_) Count(each);
  return std::exchange(pending_, std::vector<Assignment>());
}

bool RowBook::MarkOverdue(Time now) {
  bool changed = false;
  due_known_ = false;
  for (Assignment& assignment : pending_) {
    if (assignment.overdue || assignment.due > now) continue;
    assignment.overdue = true;
    ++rows_[assignment.row].overdue;
    changed = true;
  }
  for (Row& row : rows_) {
    if (row.owner_due == Time::min() || row.owner_due > now) continue;
    row.owner_due = Time::min();
    changed = true;
  }
  return changed;
}

Time RowBook::NextDue() const {
  if (due_known_) return next_due_;
  next_due_ = kNever;
  for (const Assignment& assignment : pending_) {
    if (!assignment.overdue) next_due_ = std::min(next_due_, assignment.due);
  }
  for (const Row& row : rows_) {
    if (!row.arrived && row.owner_due != Time::min())
      next_due_ = std::min(next_due_, row.owner_due);
  }
  due_known_ = true;
  return next_due_;
}

void RowBook::Hold(WorkerId worker, RowId row, Time now) {
  Assignment* const held = FindIn(pending_, worker, row);
  if (held == nullptr || held->sending != Sending::kUnasked) return;
  if (std::exchange(held->overdue, false)) --rows_[row].overdue;
  held->sending = Sending::kHeld;
  held->patience = held->due - held->assigned;
  held->asked = now;
  held->due = kNever;
  due_known_ = false;
}

void RowBook::Grant(WorkerId worker, RowId row, Time now, Time send_due) {
  Assignment& granted = *FindIn(pending_, worker, row);
  MOTLEY_ASSERT(granted.sending == Sending::kHeld);
  granted.sending = Sending::kGranted;
  granted.assigned += now - granted.asked;
  granted.due = std::max(granted.assigned + granted.patience, send_due);
  granted.granted = now;
  granted.send_due = send_due;
  due_known_ = false;
}

std::vector<bool> RowBook::Absent() const {
  std::vector<bool> absent(rows_.size());
  for (RowId i = 0; i < rows_.size(); ++i) absent[i] = rows_[i].IsAbsent();
  return absent;
}

bool RowBook::NothingInHand() const {
  return std::all_of(rows_.begin(), rows_.end(),
                     [](const Row& row) { return row.arrived || row.IsAbsent(); });
}

}  // namespace motley
