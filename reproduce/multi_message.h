// SPDX-License-Identifier: Apache-2.0
// Several messages per worker and step. Each is the sum of a few partitions and counts as soon as
// it arrives. Uncoded messages (Ozfatura, Gunduz, Ulukus, ISIT 2019) are one partition each, in an
// order of chunk_order.h. Randomly circularly shifted codes send sums of growing degree (Ozfatura,
// Ulukus, Gunduz, "Coded distributed computing with partial recovery", IEEE Trans. Information
// Theory 68(3), 2022). Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace motley {

// A code for K workers and K partitions with L = sum d_t distinct random shifts. The first d_1
// shifts belong to message 0, the next d_2 to message 1, and so on. Message t of worker w is the
// sum of partitions w + shift (mod K).
struct ShiftedCode {
  uint32_t workers = 0;           // K
  std::vector<uint32_t> degrees;  // d_1 = 1 <= d_2 <= ... <= d_r.
  std::vector<uint32_t> shifts;   // L of them.
};

// kInvalidArgument unless degrees start with 1, do not fall, and sum to at most `workers`.
Result<ShiftedCode> MakeShiftedCode(uint32_t workers, std::vector<uint32_t> degrees, uint64_t seed);

// The partitions whose sum is message `index` of a worker, in the order of computation.
std::vector<PartitionId> ShiftedMessage(const ShiftedCode& code, WorkerId worker, uint32_t index);

// Solves for partitions from the sums that arrived. It keeps them in reduced row echelon form,
// which includes peeling. One thread at a time.
class MessageDecoder {
 public:
  explicit MessageDecoder(uint32_t partitions);

  // Adds a message that is the sum of these distinct partitions. False: it follows from earlier
  // ones.
  bool Add(std::span<const PartitionId> members);

  uint32_t recovered() const { return recovered_; }
  bool Recovered(PartitionId partition) const;
  // One weight per Add so far: the weighted sum of the messages is the sum of all recovered
  // partitions.
  std::vector<double> SumWeights() const;

 private:
  struct Row {
    PartitionId pivot = 0;
    std::vector<double> members;  // One per partition; 1 at the pivot, 0 at other rows' pivots.
    // Weights of the messages in this row; one per Add up to its last change.
    std::vector<double> messages;
    bool alone = false;  // Only the pivot is left: its partition is recovered.
  };
  void Settle(Row& row);

  uint32_t partitions_;
  uint32_t recovered_ = 0;
  size_t added_ = 0;
  std::vector<Row> rows_;
  std::vector<uint32_t> row_of_;  // By pivot.
};

}  // namespace motley
