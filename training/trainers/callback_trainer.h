// SPDX-License-Identifier: Apache-2.0
// A trainer made of the caller's own functions, in the place of a built-in model: what stands
// behind include/motley/trainer.h.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include "training/trainers/trainer.h"

namespace motley {

// Samples of one step's batch, whose gradients are wanted with one coefficient. Lent for the length
// of the call.
struct ForeignWork {
  PartitionId begin = 0;  // The samples are of partitions [begin, end).
  PartitionId end = 0;
  StepId step = 0;
  uint64_t version = 0;
  std::span<const float> parameters;
  std::span<const uint64_t> samples;  // Within the whole data set.
  const Dataset* batch = nullptr;     // The same samples in this order; null: the caller has them.
  double coefficient = 1;
  std::span<float> sum;  // parameter_count floats: += coefficient * (sum of the gradients)
  double* loss;          // += coefficient * (sum of the losses)
  // What the samples weigh together, without the coefficient: their number, unless the call changes
  // it. The update divides by the sum over the batch.
  double* weight;
  const std::atomic<bool>& cancelled;  // Once set, the call may return kCancelled.
  // So many of `samples` are summed. From the calling thread.
  const std::function<void(uint64_t)>& progress;
};

// Empty functions are left out. What goes wrong in them is kCallback, with the caller's number in
// the message; any other code is passed on as it is.
struct ForeignTrainer {
  static constexpr uint64_t kMostParameters = uint64_t{1} << 40;

  uint64_t parameter_count = 0;  // 1 to kMostParameters.
  // On the compute thread. A server with this and without `hold` audits its sums by it.
  std::function<Status(const ForeignWork&)> accumulate;
  // Loop thread of the server, once; `parameters` are 0. Without it they stay so.
  std::function<Status(uint64_t seed, std::span<float> parameters)> initialize;
  // On the compute thread, before the first work on these samples.
  std::function<Status(PartitionId, uint64_t first_sample, uint64_t count)> hold;
  // Makes a worker's whole trainer, with `parameter_count` parameters, in the place of one of the
  // functions above: for gradients that do not go through samples one by one. Borrows the first
  // three.
  std::function<std::unique_ptr<Trainer>(Loop&, Device&, const PartitionStore&,
                                         const BatchSchedule&)>
      make;
};

// kInvalidArgument unless the parameters can be counted.
Status CheckForeign(const ForeignTrainer& foreign);

// The device's queue calls `foreign`, which needs `accumulate`. `loop`, `device`, `store` are
// borrowed; blocks with `features` 0 stand for samples that the caller has, and then no batch is
// gathered. Terms become one call for each run of partitions with one coefficient; complex
// coefficients are applied here. Errors as of MakeModelTrainer; those of the functions say which
// partitions and step it was. Speed is not known before there is work: Calibrate says 0.
struct ForeignShape {
  uint32_t features = 0;
  uint32_t classes = 0;
};
std::unique_ptr<Trainer> MakeCallbackTrainer(Loop& loop, Device& device,
                                             std::shared_ptr<const ForeignTrainer> foreign,
                                             ForeignShape shape, const PartitionStore& store,
                                             BatchSchedule schedule);

}  // namespace motley
