// SPDX-License-Identifier: Apache-2.0
// A shard: one contiguous range of the model's vector. It holds the optimizer's state for the range
// and sends its newest values to workers. It knows nothing of the other ranges, nor which worker
// does what. The sum of an open update has a part for each shard (UpdateSum); the coordinator
// decides which answers count there (Answers), and commits an update for all shards at once.
//
//   commit     optimizer()->Advance(...) on the device's thread makes the range of the next version
//   publish    publisher().Publish(worker, ...)
//
// So far all shards of a job are in the server's process, over vectors that they share. Loop thread
// only, but for the optimizer.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/status.h"
#include "runtime/shard/publisher.h"
#include "training/optimizers/optimizer.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

class ParameterShard {
 public:
  // The range begins at `begin` and has so many `parameters`, without padding.
  ParameterShard(OptimizerOptions options, size_t begin, size_t parameters,
                 std::unique_ptr<Publisher> publisher)
      : options_(std::move(options)),
        begin_(begin),
        parameters_(parameters),
        publisher_(std::move(publisher)) {}

  // Makes the optimizer, and with it the memory of its state. Errors are those of
  // Optimizer::Create. `own` may be null; with `apply` it replaces the rule of the options.
  Status MakeOptimizer(const ForeignTrainer* own = nullptr) {
    if (own != nullptr && own->apply) {
      MOTLEY_ASSIGN_OR_RETURN(
          optimizer_, Optimizer::CreateOwn(options_, parameters_, own->state_count, own->apply));
    } else {
      MOTLEY_ASSIGN_OR_RETURN(optimizer_, Optimizer::Create(options_, parameters_, begin_));
    }
    return Status::Ok();
  }

  Publisher& publisher() { return *publisher_; }

  // Null before MakeOptimizer. Shared, because it outlives the shard while a device works with it.
  // Only the device's thread may touch it.
  const std::shared_ptr<Optimizer>& optimizer() const { return optimizer_; }

 private:
  const OptimizerOptions options_;
  const size_t begin_;
  const size_t parameters_;
  std::shared_ptr<Optimizer> optimizer_;
  std::unique_ptr<Publisher> publisher_;
};

}  // namespace motley
