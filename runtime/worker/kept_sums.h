// SPDX-License-Identifier: Apache-2.0
// Sums over runs of partitions that a worker keeps (wire::Order::keep), so that it can put rows
// about the same partitions together from them. They depend only on the parameters. A kept sum
// therefore serves all rows of its version, whatever became of the step that it was computed for.
// Vectors are reused for the next version. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "coding/code_form.h"
#include "devices/device.h"
#include "runtime/worker/work_order.h"

namespace motley {

class KeptSums {
 public:
  using Sum = SharedVector;
  // The part that a row has of a sum: its coefficients, one for each part.
  struct Share {
    Sum sum;
    Tally tally;
    std::vector<Complex> weights;
  };

  // `parameters` is the length of the sums, which lie in `memory` (null: the library's).
  // `memory_bytes` is the memory of the worker's machine; 0 if unknown.
  KeptSums(uint64_t parameters, uint64_t memory_bytes, OwnMemory memory = nullptr)
      : parameters_(parameters), memory_bytes_(memory_bytes), memory_(std::move(memory)) {}

  bool Has(uint64_t version, PartitionId begin, PartitionId end) const;
  // Room for one more sum of this version. It forgets the sums of another version. kResource when
  // the machine has too little memory beside what a worker holds anyway.
  Result<Sum> Room(uint64_t version);
  // Keeps the room's content as the sum over [begin, end).
  void Keep(PartitionId begin, PartitionId end, Sum sum, const Tally& tally);
  void GiveBack(Sum sum) { spare_.push_back(std::move(sum)); }  // The room was not filled.

  // The shares of the row's terms in kept sums. If there are any, `left` gets the remaining terms.
  std::vector<Share> TakeFrom(const WorkOrder::What& row, std::vector<PartitionTerm>& left) const;
  // Adds the shares to `answer`, on the device. `done` runs on the loop thread. After a failure the
  // answer is incomplete. `ends` is as in GradientWork, and stays valid until `done`.
  static void Add(Device& device, std::vector<Share> shares, Sum answer,
                  std::span<const size_t> ends, std::function<void(const Status&)> done);

 private:
  struct Run {
    PartitionId end = 0;
    Sum sum;
    Tally tally;
  };

  uint64_t parameters_;
  uint64_t memory_bytes_;
  OwnMemory memory_;
  uint64_t version_ = 0;
  std::map<PartitionId, Run> runs_;  // The runs of version_, by their first partition.
  std::vector<Sum> spare_;
  uint64_t made_ = 0;  // Vectors that were made.
};

}  // namespace motley
