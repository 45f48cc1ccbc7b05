// SPDX-License-Identifier: Apache-2.0
// Sums over runs of partitions that a worker keeps (wire::Order::keep), so that rows about the
// same partitions are put together from them. They depend on the parameters only, so what is kept
// holds for all rows of their version, whatever became of the step it was computed for. Vectors
// stay for the next version. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "coding/code_form.h"
#include "devices/device.h"
#include "runtime/worker/work_order.h"

namespace motley {

class KeptSums {
 public:
  using Sum = std::shared_ptr<std::vector<float>>;
  // What a row has of a sum: its coefficients, one for each part.
  struct Share {
    Sum sum;
    Tally tally;
    std::vector<Complex> weights;
  };

  // Of so many parameters; `memory_bytes`: of the worker's machine, 0: not known.
  KeptSums(uint64_t parameters, uint64_t memory_bytes)
      : parameters_(parameters), memory_bytes_(memory_bytes) {}

  bool Has(uint64_t version, PartitionId begin, PartitionId end) const;
  // Room for one more sum of this version; those of another are forgotten. kResource when there is
  // none beside what a worker holds anyway.
  Result<Sum> Room(uint64_t version);
  // That room is filled, with the sum over [begin, end).
  void Keep(PartitionId begin, PartitionId end, Sum sum, const Tally& tally);
  void GiveBack(Sum sum) { spare_.push_back(std::move(sum)); }  // It is not.

  // What is kept of the row's terms. If anything is, `left` are the others.
  std::vector<Share> TakeFrom(const WorkOrder::What& row, std::vector<PartitionTerm>& left) const;
  // Adds the shares to `answer`, on the device. `done` runs on the loop thread; what failed left
  // the answer incomplete.
  static void Add(Device& device, std::vector<Share> shares, Sum answer,
                  std::function<void(const Status&)> done);

 private:
  struct Run {
    PartitionId end = 0;
    Sum sum;
    Tally tally;
  };

  uint64_t parameters_;
  uint64_t memory_bytes_;
  uint64_t version_ = 0;
  std::map<PartitionId, Run> runs_;  // By their beginning; of version_.
  std::vector<Sum> spare_;
  uint64_t made_ = 0;  // Vectors.
};

}  // namespace motley
