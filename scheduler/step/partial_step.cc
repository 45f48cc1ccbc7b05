// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/partial_step.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

bool Has(const std::vector<uint32_t>& all, uint32_t one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

PartialStep::PartialStep(std::shared_ptr<const StepSetting> setting,
                         std::shared_ptr<const WorkLists> lists, uint32_t parts)
    : setting_(std::move(setting)),
      lists_(*lists),
      parts_(parts),
      done_(lists_.size(), 0),
      finished_(setting_->holders.size()),
      solved_(setting_->holders.size(), false),
      holders_(setting_->holders.size(), 0),
      lacking_(setting_->holders.size()),
      cut_(lists_.size(), 0),
      stale_(lists_.size(), 0),
      asked_(lists_.size(), false) {
  MOTLEY_ASSERT(parts > 0);
  for (const StepWorker& worker : setting_->workers) live_.push_back(worker.live);
  for (PartitionId p = 0; p < holders_.size(); ++p) {
    for (const WorkerId w : setting_->holders[p]) holders_[p] += live_[w] ? 1 : 0;
    fewest_ = std::min(fewest_, holders_[p]);
  }
  SetParts();
}

void PartialStep::Begin(std::vector<StepCommand>& out) {
  for (WorkerId w = 0; w < live_.size(); ++w) {
    if (live_[w] && !lists_[w].empty()) out.emplace_back(ExtendList{w, lists_[w]});
  }
}

void PartialStep::OnEvent(const StepEvent& event, double, std::vector<StepCommand>& out) {
  if (const auto* progress = std::get_if<ListProgress>(&event)) {
    if (live_[progress->worker]) Finish(progress->worker, progress->done, out);
  } else if (const auto* released = std::get_if<ListReleased>(&event)) {
    Drop(*released, out);
  } else if (const auto* lost = std::get_if<StepWorkerLost>(&event)) {
    if (live_[lost->worker]) Lose(lost->worker, out);
  } else if (const auto* arrived = std::get_if<VectorArrived>(&event)) {
    const WorkerId w = arrived->worker;
    if (!live_[w]) return;
    if (stale_[w] > 0) {
      --stale_[w];
    } else if (asked_[w]) {
      asked_[w] = false;
      if (--to_come_ == 0) out.emplace_back(StepEnough{});
    }
  }
  if (!is_cut_ && lacking_ == 0) Cut(out);
}

void PartialStep::Finish(WorkerId w, uint32_t done, std::vector<StepCommand>& out) {
  for (; done_[w] < done; ++done_[w]) {
    const PartitionId p = lists_[w][done_[w]];
    finished_[p].push_back(w);
    if (solved_[p] || !Solved(p)) continue;
    solved_[p] = true;
    --lacking_;
    if (setting_->work.empty()) continue;
    for (const WorkerId other : setting_->holders[p]) {
      if (live_[other] && !Has(finished_[p], other)) out.emplace_back(RevokeList{other, {p}});
    }
  }
}

void PartialStep::Drop(const ListReleased& released, std::vector<StepCommand>& out) {
  auto& list = lists_[released.worker];
  const auto open = list.begin() + static_cast<ptrdiff_t>(done_[released.worker]);
  const auto dropped = [&](PartitionId p) { return Has(released.partitions, p); };
  list.erase(std::remove_if(open, list.end(), dropped), list.end());
  if (is_cut_) return;
  for (const PartitionId p : released.partitions) GiveBack(p, out);  // A loss came in between.
}

void PartialStep::GiveBack(PartitionId p, std::vector<StepCommand>& out) {
  if (solved_[p]) return;
  for (const WorkerId w : setting_->holders[p]) {
    if (!live_[w] || Has(lists_[w], p)) continue;
    lists_[w].push_back(p);
    out.emplace_back(ExtendList{w, {p}});
  }
}

bool PartialStep::Solved(PartitionId p) const { return SolvesChunk(code_, finished_[p]); }

void PartialStep::Lose(WorkerId w, std::vector<StepCommand>& out) {
  live_[w] = false;
  for (PartitionId p = 0; p < holders_.size(); ++p) {
    if (!Has(setting_->holders[p], w)) continue;
    fewest_ = std::min(fewest_, --holders_[p]);
    if (std::erase(finished_[p], w) == 0 || !solved_[p] || Solved(p)) continue;
    solved_[p] = false;
    ++lacking_;
  }
  // Its vector may have arrived already; all the vectors of the cut then still fit together.
  if (is_cut_ && asked_[w]) {
    is_cut_ = false;
    to_come_ = 0;
    for (WorkerId other = 0; other < asked_.size(); ++other) {
      stale_[other] += asked_[other] ? 1 : 0;
      asked_[other] = false;
    }
  }
  if (is_cut_) return;
  SetParts();
  if (setting_->work.empty()) return;  // Nobody dropped anything.
  for (PartitionId p = 0; p < solved_.size(); ++p) GiveBack(p, out);
}

// If a partition has no live holder, the step never ends.
void PartialStep::SetParts() {
  const uint32_t before = code_.parts;
  const auto workers = static_cast<uint32_t>(live_.size());
  parts_ = std::max(std::min(parts_, fewest_), 1U);
  code_ = MakePartialCode(workers, parts_).value();
  while (parts_ > 1 && !HoldersSolveAll()) code_ = MakePartialCode(workers, --parts_).value();
  if (parts_ == before) return;
  for (PartitionId p = 0; p < finished_.size(); ++p) solved_[p] = Solved(p);
  lacking_ = static_cast<size_t>(std::count(solved_.begin(), solved_.end(), false));
}

bool PartialStep::HoldersSolveAll() const {
  std::vector<WorkerId> living;
  for (const auto& holders : setting_->holders) {
    living.clear();
    for (const WorkerId w : holders) {
      if (live_[w]) living.push_back(w);
    }
    if (!living.empty() && !SolvesChunk(code_, living)) return false;
  }
  return true;
}

void PartialStep::Cut(std::vector<StepCommand>& out) {
  is_cut_ = true;
  for (WorkerId w = 0; w < live_.size(); ++w) {
    cut_[w] = live_[w] ? done_[w] : 0;
    if (cut_[w] == 0) continue;
    asked_[w] = true;
    ++to_come_;
    out.emplace_back(SendVector{w, true});
  }
}

}  // namespace motley
