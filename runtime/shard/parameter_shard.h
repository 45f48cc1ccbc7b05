// SPDX-License-Identifier: Apache-2.0
// A shard: one contiguous range of the model's vector. It holds the optimizer's state for the range
// and sends its newest values to workers. It knows nothing of the other ranges, nor which worker
// does what. The sum of an open update has a part for each shard (UpdateSum); the coordinator
// decides which answers count there (Answers), and commits an update for all shards at once.
//
//   commit     optimizer()->Apply(...) on the device's thread makes the range of the next version
//   publish    publisher().Publish(worker, ...)
//
// So far all shards of a job are in the server's process, over vectors that they share. Loop thread
// only, but for the optimizer.
#pragma once

#include <memory>
#include <utility>

#include "runtime/shard/publisher.h"
#include "training/optimizers/optimizer.h"

namespace motley {

class ParameterShard {
 public:
  // `optimizer` is for the parameters of the range, without padding.
  ParameterShard(std::unique_ptr<Optimizer> optimizer, std::unique_ptr<Publisher> publisher)
      : optimizer_(std::move(optimizer)), publisher_(std::move(publisher)) {}

  Publisher& publisher() { return *publisher_; }

  // Shared, because it outlives the shard while a device works with it. Only the device's thread
  // may touch it.
  const std::shared_ptr<Optimizer>& optimizer() const { return optimizer_; }

 private:
  std::shared_ptr<Optimizer> optimizer_;
  std::unique_ptr<Publisher> publisher_;
};

}  // namespace motley
