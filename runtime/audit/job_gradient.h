// SPDX-License-Identifier: Apache-2.0
// The gradient of a job as the server computes it: a built-in model, or the caller's trainer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/ids.h"
#include "base/status.h"
#include "base/tally.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "runtime/job.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

class JobGradient {
 public:
  // kInvalidArgument when the model or trainer is invalid, or does not fit the data.
  static Result<std::unique_ptr<JobGradient>> Create(const JobOptions& options,
                                                     const DataShape& shape);
  virtual ~JobGradient() = default;

  virtual uint64_t parameter_count() const = 0;
  // Writes the first version into `parameters`, which are 0. Runs on the loop thread. Returns
  // errors of the caller's own function, or kCallback when it leaves values that are not finite.
  virtual Status Initialize(uint64_t seed, std::span<float> parameters) const = 0;

  // The trainer that brings its own rule for updates; null: the optimizer's rule.
  virtual const ForeignTrainer* own_rule() const { return nullptr; }
  // Sum works here. It needs the trainer's function, and samples that not only the workers can
  // load.
  virtual bool can_sum() const = 0;
  // Sum takes any samples of a batch. Otherwise it takes all samples in a run of partitions.
  virtual bool divisible() const = 0;
  struct Samples {
    StepId step = 0;
    uint64_t version = 0;   // Version of the parameters; equal numbers mean equal values.
    PartitionId begin = 0;  // The samples are from partitions [begin, end).
    PartitionId end = 0;
    std::span<const uint32_t> rows;  // Sample numbers within the data set.
  };
  // Adds the gradients, losses and weights of these samples of `data`, without any code. Runs on a
  // device's thread, one call at a time. It may return kCancelled once `cancelled` is set.
  virtual Status Sum(Device& device, const Samples& samples, std::span<const float> parameters,
                     const DataSource& data, const std::atomic<bool>& cancelled,
                     std::span<float> gradient, Tally& tally) = 0;
};

}  // namespace motley
