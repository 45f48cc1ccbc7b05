// SPDX-License-Identifier: Apache-2.0
// Cuts a batch into parts for workers that take turns (R2SP: Chen, Wang, Li, INFOCOM 2019): each
// part takes its worker as long as the others take, so nobody's turn waits for a slow worker. A
// cycle of turns shares a batch, and its parts are ranges of partitions, one behind the other:
//
//   12 partitions with a sample each, 3 turns, speeds 3 2 1: [0, 6) [6, 10) [10, 12)
//
// Every part has a sample, as long as there are as many partitions with samples as turns. If a
// worker has several turns in a cycle, because there are fewer workers than turns, those that are
// left are taken for turns of the average worker. The last turn has all that is left. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids.h"

namespace motley {

// Partitions [first, last) of a batch, and how many of its samples they have.
struct BatchPart {
  PartitionId first = 0;
  PartitionId last = 0;
  uint64_t samples = 0;
  bool operator==(const BatchPart&) const = default;
};

// So many turns share a batch, at least one and no more than it has partitions.
struct SharedBatch {
  uint32_t turns = 1;
  std::vector<uint32_t> samples;  // By partition.
};

// The batch of which this turn is the first.
using SharedBatches = std::function<SharedBatch(StepId turn)>;

class BatchParts {
 public:
  BatchParts(uint32_t workers, SharedBatches batches);

  // The part of the next turn, if `worker` has it. `workers` are all that take turns, and `speeds`
  // theirs.
  BatchPart Next(WorkerId worker, const std::vector<WorkerId>& workers,
                 const std::vector<double>& speeds) const;
  // The worker has this turn.
  void Took(WorkerId worker, const BatchPart& part);

 private:
  // The batch whose first turn is the next one.
  void BeginBatch();
  PartitionId Cut(double samples, uint32_t later) const;

  const SharedBatches batches_;
  uint32_t turns_ = 1;            // So many share this batch.
  std::vector<uint64_t> before_;  // By partition: the samples before it. The last one has all.
  std::vector<bool> had_turn_;    // By worker, in this cycle.
  StepId all_turns_ = 0;          // All turns of earlier batches.
  uint32_t turn_ = 0;             // The next one of the cycle.
  PartitionId first_ = 0;         // The first partition that is left.
};

}  // namespace motley
