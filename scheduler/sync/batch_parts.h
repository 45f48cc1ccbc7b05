// SPDX-License-Identifier: Apache-2.0
// Cuts a batch into parts for workers that take turns (R2SP: Chen, Wang, Li, INFOCOM 2019): each
// part takes its worker as long as the others take, so nobody's turn waits for a slow worker. A
// cycle of turns shares a batch, and its parts are ranges of partitions, one behind the other:
//
//   12 partitions, 3 turns, speeds 3 2 1: [0, 6) [6, 10) [10, 12)
//
// If a worker has several turns in a cycle, because there are fewer workers than turns, those that
// are left are taken for turns of the average worker. The last turn has all that is left. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace motley {

// Partitions [first, last) of a batch.
struct BatchPart {
  PartitionId first = 0;
  PartitionId last = 0;
  bool operator==(const BatchPart&) const = default;
};

// So many turns share a batch of so many partitions, which are no fewer. 1: turns share none.
struct SharedBatch {
  uint32_t turns = 1;
  uint32_t partitions = 1;
};

class BatchParts {
 public:
  BatchParts(uint32_t workers, const SharedBatch& batch)
      : turns_(batch.turns), partitions_(batch.partitions), had_turn_(workers) {}

  // The part of the next turn, if `worker` has it. `workers` are all that take turns, and `speeds`
  // theirs.
  BatchPart Next(WorkerId worker, const std::vector<WorkerId>& workers,
                 const std::vector<double>& speeds) const;
  // The worker has this turn.
  void Took(WorkerId worker, const BatchPart& part);

 private:
  const uint32_t turns_;
  const uint32_t partitions_;
  std::vector<bool> had_turn_;  // By worker, in this cycle.
  uint32_t turn_ = 0;           // The next one of the cycle.
  PartitionId first_ = 0;       // The first partition that is left.
};

}  // namespace motley
