// SPDX-License-Identifier: Apache-2.0
// A trainer of the caller's own functions, in place of a built-in model. include/motley/trainer.h
// is built on it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include "training/trainers/trainer.h"

namespace motley {

// Samples of one step's batch whose gradients have the same coefficient. Valid during the call.
struct ForeignWork {
  PartitionId begin = 0;  // The samples are in partitions [begin, end).
  PartitionId end = 0;
  StepId step = 0;
  uint64_t version = 0;
  std::span<const float> parameters;
  std::span<const uint64_t> samples;  // Positions in the whole data set.
  const Dataset* batch = nullptr;     // The same samples in this order; null: the caller has them.
  double coefficient = 1;
  std::span<float> sum;  // parameter_count floats: += coefficient * (sum of the gradients)
  double* loss;          // += coefficient * (sum of the losses)
  // Total weight of the samples, without the coefficient: their number unless the call changes it.
  // The update divides by the sum over the batch.
  double* weight;
  const std::atomic<bool>& cancelled;  // Once set, the call may return kCancelled.
  // Call it from the calling thread when so many of `samples` are summed.
  const std::function<void(uint64_t)>& progress;
};

// Empty functions are not called. A failure of theirs is kCallback with the caller's number in the
// message; any other code is passed on.
struct ForeignTrainer {
  static constexpr uint64_t kMostParameters = uint64_t{1} << 40;

  uint64_t parameter_count = 0;  // 1 to kMostParameters.
  // Runs on the compute thread. A server that has it and no `hold` also audits sums with it.
  std::function<Status(const ForeignWork&)> accumulate;
  // Runs once on the server's loop thread. `parameters` are 0 before, and stay 0 without it.
  std::function<Status(uint64_t seed, std::span<float> parameters)> initialize;
  // Runs on the compute thread, before the first work on these samples.
  std::function<Status(PartitionId, uint64_t first_sample, uint64_t count)> hold;
  // Creates a worker's whole trainer, with `parameter_count` parameters, in place of the functions
  // above. It is for gradients that are not computed sample by sample. The trainer borrows the
  // first three arguments.
  std::function<std::unique_ptr<Trainer>(Loop&, Device&, const PartitionStore&,
                                         const BatchSchedule&)>
      make;
};

// kInvalidArgument: the number of parameters is out of range.
Status CheckForeign(const ForeignTrainer& foreign);

// A trainer that calls `foreign` on the device's queue; `foreign` needs `accumulate`. Terms become
// one call for each run of partitions with one coefficient; complex coefficients are applied here.
// Blocks with `features` 0 stand for samples that the caller has, and no batch is gathered for
// them. Calibrate returns 0, because speed is not known before there is work.
//
// `loop`, `device` and `store` are borrowed. Errors are those of MakeModelTrainer; those of the
// functions name partitions and step.
struct ForeignShape {
  uint32_t features = 0;
  uint32_t classes = 0;
};
std::unique_ptr<Trainer> MakeCallbackTrainer(Loop& loop, Device& device,
                                             std::shared_ptr<const ForeignTrainer> foreign,
                                             ForeignShape shape, const PartitionStore& store,
                                             BatchSchedule schedule);

}  // namespace motley
