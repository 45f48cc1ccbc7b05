// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/row_step.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/assert.h"

namespace motley {

RowStep::RowStep(std::shared_ptr<const StepSetting> setting, std::shared_ptr<const RowCode> code)
    : setting_(std::move(setting)),
      code_(std::move(code)),
      workers_(setting_->workers.size()),
      arrived_(*code_),
      expected_(code_->rows.size(), false) {
  for (WorkerId w = 0; w < workers_.size(); ++w) workers_[w].live = setting_->workers[w].live;
  missing_.reserve(code_->rows.size());
  for (const auto& row : code_->rows) missing_.push_back(static_cast<uint32_t>(row.size()));
}

void RowStep::Begin(std::vector<StepCommand>& out) {
  out_ = &out;
  bool any_lost = false;
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    any_lost = any_lost || !workers_[w].live;
    if (!workers_[w].live || code_->rows[w].empty()) continue;
    expected_[w] = true;
    workers_[w].at_own = true;
    Occupy(w, static_cast<uint32_t>(code_->rows[w].size()));
    Start(w);
  }
  if (any_lost) Mend();
  out_ = nullptr;
}

void RowStep::OnEvent(const StepEvent& event, double, std::vector<StepCommand>& out) {
  out_ = &out;
  if (const auto* arrived = std::get_if<VectorArrived>(&event)) On(*arrived);
  if (const auto* lost = std::get_if<StepWorkerLost>(&event)) On(*lost);
  out_ = nullptr;
}

void RowStep::On(const VectorArrived& event) {
  Worker& worker = workers_[event.worker];
  if (!worker.live) return;
  RowId row = event.worker;
  if (worker.at_own) {
    worker.at_own = false;
  } else {
    MOTLEY_ASSERT(!worker.others.empty());
    MOTLEY_ASSERT(event.entries == worker.others.front().partitions.size());
    row = worker.others.front().row;
    worker.others.erase(worker.others.begin());
  }
  if (!worker.others.empty()) Start(event.worker);
  missing_[row] -= event.entries;
  if (missing_[row] > 0) return;
  arrived_.Add(row);
  if (arrived_.Enough()) out_->emplace_back(StepEnough{});
}

void RowStep::On(const StepWorkerLost& event) {
  Worker& worker = workers_[event.worker];
  if (!worker.live) return;
  worker.live = false;
  if (std::exchange(worker.at_own, false)) expected_[event.worker] = false;
  const std::vector<Piece> pieces = std::exchange(worker.others, {});
  for (const Piece& piece : pieces) expected_[piece.row] = false;
  // The rows that it made up for go on elsewhere if possible. Its own row may no longer be needed.
  std::set<RowId> broken = {event.worker};
  for (const Piece& piece : pieces) {
    if (!HeldByLive(piece.partitions)) broken.insert(piece.row);
  }
  for (const Piece& piece : pieces) {
    if (!broken.contains(piece.row)) MakeUp(piece.row, piece.partitions);
  }
  Mend();
}

void RowStep::Occupy(WorkerId w, uint32_t count) {
  Worker& worker = workers_[w];
  const StepWorker& known = setting_->workers[w];
  if (worker.free_at == 0) worker.free_at = known.overhead_seconds;
  worker.free_at += known.seconds_per_partition * count;
}

void RowStep::Give(WorkerId w, Piece piece) {
  Worker& worker = workers_[w];
  Occupy(w, static_cast<uint32_t>(piece.partitions.size()));
  worker.others.push_back(std::move(piece));
  if (!worker.at_own && worker.others.size() == 1) Start(w);
}

void RowStep::Start(WorkerId w) {
  if (workers_[w].at_own) {
    out_->emplace_back(ExtendList{w, {}, w, code_->rows[w]});
  } else {
    const Piece& piece = workers_[w].others.front();
    out_->emplace_back(ExtendList{w, piece.partitions, piece.row});
  }
  out_->emplace_back(SendVector{w});
}

bool RowStep::HeldByLive(std::span<const PartitionId> partitions) const {
  return std::all_of(partitions.begin(), partitions.end(), [&](PartitionId p) {
    const auto& holders = setting_->holders[p];
    return std::any_of(holders.begin(), holders.end(),
                       [&](WorkerId w) { return workers_[w].live; });
  });
}

// Gives each partition to the holder that would have it done first.
void RowStep::MakeUp(RowId row, std::span<const PartitionId> partitions) {
  expected_[row] = true;
  std::map<WorkerId, Piece> given;
  std::map<WorkerId, double> free_at;
  for (const PartitionId p : partitions) {
    WorkerId best = 0;
    double done = std::numeric_limits<double>::infinity();
    for (const WorkerId w : setting_->holders[p]) {
      if (!workers_[w].live) continue;
      const double from = free_at.try_emplace(w, workers_[w].free_at).first->second;
      const double late = from + setting_->workers[w].seconds_per_partition;
      if (late < done) best = w, done = late;
    }
    free_at[best] = done;
    Piece& piece = given[best];
    piece.row = row;
    piece.partitions.push_back(p);
  }
  for (auto& [w, piece] : given) Give(w, std::move(piece));
}

// Makes up for the lowest lost rows until the expected rows decode.
void RowStep::Mend() {
  if (Decodes(*code_, expected_)) return;
  for (RowId row = 0; row < expected_.size(); ++row) {
    // Vectors of a failed attempt to make up for the row may have come.
    if (expected_[row] || missing_[row] != code_->rows[row].size()) continue;
    if (code_->rows[row].empty() || !HeldByLive(code_->rows[row])) continue;
    MakeUp(row, code_->rows[row]);
    if (Decodes(*code_, expected_)) return;
  }
}

}  // namespace motley
