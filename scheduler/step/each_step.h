// SPDX-License-Identifier: Apache-2.0
// Several messages per worker and step (Ozfatura, Gunduz, Ulukus, ISIT 2019): every worker works
// through all that it holds and sends a vector after every chunk, a run of partitions; each chunk
// counts once, from whoever has it first. No feedback but, where lists say so, what came. What a
// lost worker holds others compute anyway, as long as they hold it.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "coding/placement/chunk_order.h"
#include "scheduler/step/step_policy.h"

namespace motley {

// Chunk c is partitions [c * size, (c + 1) * size); the last may be shorter.
struct EachLists {
  uint32_t partitions = 0;
  uint32_t size = 1;
  WorkLists chunks;  // By worker, in its order.
  // Nobody begins a chunk once the server has told that it came. Only with size 1, for what is
  // begun cannot be left.
  bool skips = false;
};

class EachStep final : public StepPolicy {
 public:
  EachStep(std::shared_ptr<const StepSetting> setting, std::shared_ptr<const EachLists> lists);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return std::numeric_limits<double>::infinity(); }
  bool wants_progress() const override { return false; }
  uint32_t sends_every() const override { return lists_->size; }

  // The worker of whose vectors each chunk counts; partitions' workers are its chunk's.
  const std::vector<WorkerId>& awarded() const { return awarded_; }

 private:
  bool Dropped(WorkerId worker, PartitionId chunk) const;
  void Skip(PartitionId chunk, std::vector<StepCommand>& out) const;

  std::shared_ptr<const StepSetting> setting_;
  std::shared_ptr<const EachLists> lists_;
  std::vector<uint32_t> next_;  // By worker, the place in its list of the next vector.
  std::vector<bool> live_;
  std::vector<std::vector<PartitionId>> dropped_;  // By worker; empty: nobody skips.
  std::vector<bool> counted_;                      // By chunk.
  std::vector<WorkerId> awarded_;
  size_t missing_;
};

}  // namespace motley
