// SPDX-License-Identifier: Apache-2.0
// Several messages per worker and step (Ozfatura, Gunduz, Ulukus, ISIT 2019). Every worker works
// through all that it holds and sends a vector after every chunk, a run of partitions. Each chunk
// counts once, from the worker that delivers it first. The server sends no feedback, except that
// it reports chunks that came if `skips` is set. The other holders compute the chunks of a
// lost worker anyway.
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
  // Workers skip a chunk after the server's report that it came. Only with size 1, because a chunk
  // that was begun cannot be left.
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

  // The worker whose vector counts, for each chunk.
  const std::vector<WorkerId>& awarded() const { return awarded_; }

 private:
  bool Dropped(WorkerId worker, PartitionId chunk) const;
  void Skip(PartitionId chunk, std::vector<StepCommand>& out) const;

  std::shared_ptr<const StepSetting> setting_;
  std::shared_ptr<const EachLists> lists_;
  std::vector<uint32_t> next_;  // By worker, the place in its list of the next vector.
  std::vector<bool> live_;
  std::vector<std::vector<PartitionId>> dropped_;  // By worker; empty if no worker skips.
  std::vector<bool> counted_;                      // By chunk.
  std::vector<WorkerId> awarded_;
  size_t missing_;
};

}  // namespace motley
