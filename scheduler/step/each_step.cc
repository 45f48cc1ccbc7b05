// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/each_step.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace motley {

EachStep::EachStep(std::shared_ptr<const StepSetting> setting,
                   std::shared_ptr<const EachLists> lists)
    : setting_(std::move(setting)), lists_(std::move(lists)), next_(lists_->chunks.size(), 0) {
  for (const StepWorker& worker : setting_->workers) live_.push_back(worker.live);
  missing_ = (lists_->partitions + lists_->size - 1) / lists_->size;
  counted_.assign(missing_, false);
  awarded_.assign(missing_, 0);
  MOTLEY_ASSERT(!lists_->skips || lists_->size == 1);
  if (lists_->skips) dropped_.resize(live_.size());
}

void EachStep::Begin(std::vector<StepCommand>& out) {
  for (WorkerId w = 0; w < live_.size(); ++w) {
    if (!live_[w] || lists_->chunks[w].empty()) continue;
    ExtendList list{w, {}};
    if (lists_->size == 1) {
      list.of_row = lists_->chunks[w];
      out.emplace_back(std::move(list));
      out.emplace_back(SendVector{w});
      continue;
    }
    for (const PartitionId chunk : lists_->chunks[w]) {
      const uint32_t begin = chunk * lists_->size;
      const uint32_t end = std::min(begin + lists_->size, lists_->partitions);
      for (PartitionId p = begin; p < end; ++p) list.partitions.push_back(p);
    }
    out.emplace_back(std::move(list));
    // The last chunk may be a short one, so no count of partitions ends it.
    out.emplace_back(SendVector{w});
  }
}

void EachStep::OnEvent(const StepEvent& event, double, std::vector<StepCommand>& out) {
  if (const auto* lost = std::get_if<StepWorkerLost>(&event)) live_[lost->worker] = false;
  if (const auto* released = std::get_if<ListReleased>(&event); released && lists_->skips) {
    auto& dropped = dropped_[released->worker];
    dropped.insert(dropped.end(), released->partitions.begin(), released->partitions.end());
  }
  const auto* arrived = std::get_if<VectorArrived>(&event);
  if (arrived == nullptr || !live_[arrived->worker]) return;
  const auto& chunks = lists_->chunks[arrived->worker];
  uint32_t& next = next_[arrived->worker];
  while (lists_->skips && next < chunks.size() && Dropped(arrived->worker, chunks[next])) ++next;
  MOTLEY_ASSERT(next < chunks.size());
  const PartitionId chunk = chunks[next++];
  if (counted_[chunk]) return;
  counted_[chunk] = true;
  awarded_[chunk] = arrived->worker;
  if (--missing_ == 0) return out.push_back(StepEnough{});
  if (lists_->skips) Skip(chunk, out);
}

bool EachStep::Dropped(WorkerId worker, PartitionId chunk) const {
  const auto& dropped = dropped_[worker];
  return std::find(dropped.begin(), dropped.end(), chunk) != dropped.end();
}

void EachStep::Skip(PartitionId chunk, std::vector<StepCommand>& out) const {
  for (const WorkerId w : setting_->holders[chunk]) {
    if (w != awarded_[chunk] && live_[w]) out.emplace_back(RevokeList{w, {chunk}});
  }
}

}  // namespace motley
