// SPDX-License-Identifier: Apache-2.0
// Several messages per worker and step, each the sum of a few partitions, that count as soon as
// they come. Uncoded (Ozfatura, Gunduz, Ulukus, ISIT 2019) each is one partition, in an order of
// chunk_order.h; randomly circularly shifted codes send sums of growing degree (Ozfatura, Ulukus,
// Gunduz, "Coded distributed computing with partial recovery", IEEE Trans. Information Theory
// 68(3), 2022). Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace motley {

// K workers and K partitions. Of L = sum d_t distinct random shifts the first d_1 make message 0,
// the next d_2 message 1, ...: message t of worker w is the sum of partitions w + shift (mod K).
struct ShiftedCode {
  uint32_t workers = 0;           // K
  std::vector<uint32_t> degrees;  // d_1 = 1 <= d_2 <= ... <= d_r.
  std::vector<uint32_t> shifts;   // L of them.
};

// kInvalidArgument unless degrees start with 1, do not fall, and sum to at most `workers`.
Result<ShiftedCode> MakeShiftedCode(uint32_t workers, std::vector<uint32_t> degrees, uint64_t seed);

// The partitions whose sum is message `index` of a worker, in the order in which it computes them.
std::vector<PartitionId> ShiftedMessage(const ShiftedCode& code, WorkerId worker, uint32_t index);

// What can be solved for from the sums that came: keeps them in reduced row echelon form, which
// contains peeling. One thread at a time.
class MessageDecoder {
 public:
  explicit MessageDecoder(uint32_t partitions);

  // A message came that is the sum of these partitions, all different. False when it follows from
  // those before it.
  bool Add(std::span<const PartitionId> members);

  uint32_t recovered() const { return recovered_; }
  bool Recovered(PartitionId partition) const;
  // One weight per Add so far: these messages together are the sum of all recovered partitions.
  std::vector<double> SumWeights() const;

 private:
  struct Row {
    PartitionId pivot = 0;
    std::vector<double> members;   // One per partition; 1 at the pivot, 0 at other rows' pivots.
    std::vector<double> messages;  // What it is made of; one per Add up to its last change.
    bool alone = false;            // Nothing but the pivot: recovered.
  };
  void Settle(Row& row);

  uint32_t partitions_;
  uint32_t recovered_ = 0;
  size_t added_ = 0;
  std::vector<Row> rows_;
  std::vector<uint32_t> row_of_;  // By pivot.
};

}  // namespace motley
