// SPDX-License-Identifier: Apache-2.0
// What a server knows of a job's gradient: a built-in model, or the trainer that the caller
// brought.
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

namespace motley {

class JobGradient {
 public:
  // kInvalidArgument when model or trainer make no sense, or do not fit the data.
  static Result<std::unique_ptr<JobGradient>> Create(const JobOptions& options,
                                                     const DataShape& shape);
  virtual ~JobGradient() = default;

  virtual uint64_t parameter_count() const = 0;
  // Loop thread. The first version; `parameters` are 0. What the caller's own function says, or
  // kCallback when it leaves values that are not finite.
  virtual Status Initialize(uint64_t seed, std::span<float> parameters) const = 0;

  // Whether Sum works here: not without the trainer's function, nor for samples that its workers
  // alone load.
  virtual bool can_sum() const = 0;
  // Whether Sum takes any samples of a batch; else all that a run of partitions has in it.
  virtual bool divisible() const = 0;
  struct Samples {
    StepId step = 0;
    uint64_t version = 0;   // Of the parameters: the same number means the same values.
    PartitionId begin = 0;  // They are of partitions [begin, end).
    PartitionId end = 0;
    std::span<const uint32_t> rows;  // Within the data set.
  };
  // On a device's thread, one call at a time. Adds the gradients, losses and weights of these
  // samples of `data`, without any code. May be kCancelled once `cancelled` is set.
  virtual Status Sum(Device& device, const Samples& samples, std::span<const float> parameters,
                     const DataSource& data, const std::atomic<bool>& cancelled,
                     std::span<float> gradient, Tally& tally) = 0;
};

}  // namespace motley
