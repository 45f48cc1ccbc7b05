// SPDX-License-Identifier: Apache-2.0
// A shard: one contiguous range of the model's vector. It forms the sum of this range over the
// answers of a step, holds the optimizer's state for it, and sends its newest values to workers. It
// knows nothing of the other ranges, nor which worker does what. The coordinator says which answers
// there may be (Answers), and when a step is enough for all shards at once.
//
//   open a step      sum().OpenRows(form)
//   its slices       sum().decoder().AddSlice(row, slice, ...)       slices of this range
//   commit           sum().Finish(); then, on the device's thread, optimizer()->Apply(...)
//   publish          publisher().Publish(worker, ...)
//
// So far all shards of a job are in the server's process, over vectors that they share. Loop thread
// only, but for the optimizer.
#pragma once

#include <memory>
#include <utility>

#include "runtime/shard/publisher.h"
#include "runtime/shard/step_sum.h"
#include "training/optimizers/optimizer.h"

namespace motley {

class ParameterShard {
 public:
  // `sum` forms sums of this range, `optimizer` updates its parameters, without the padding.
  ParameterShard(std::unique_ptr<StepSum> sum, std::unique_ptr<Optimizer> optimizer,
                 std::unique_ptr<Publisher> publisher)
      : sum_(std::move(sum)), optimizer_(std::move(optimizer)), publisher_(std::move(publisher)) {}

  StepSum& sum() { return *sum_; }
  const StepSum& sum() const { return *sum_; }
  Publisher& publisher() { return *publisher_; }

  // Shared, because it outlives the shard while a device works with it. Only the device's thread
  // may touch it.
  const std::shared_ptr<Optimizer>& optimizer() const { return optimizer_; }

 private:
  std::unique_ptr<StepSum> sum_;
  std::shared_ptr<Optimizer> optimizer_;
  std::unique_ptr<Publisher> publisher_;
};

}  // namespace motley
