// SPDX-License-Identifier: Apache-2.0
// What a server knows of a job's gradient: a built-in model, or the trainer that the caller
// brought.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "devices/device.h"
#include "runtime/job.h"
#include "training/data_source.h"

namespace motley {

class JobGradient {
 public:
  // kInvalidArgument when model or trainer make no sense, or do not fit the data.
  // `partitions`: into how many the samples are cut.
  static Result<std::unique_ptr<JobGradient>> Create(const JobOptions& options,
                                                     const DataShape& shape, uint32_t partitions);
  virtual ~JobGradient() = default;

  virtual uint64_t parameter_count() const = 0;
  // Loop thread. The first version; `parameters` are 0. What the caller's own function says, or
  // kCallback when it leaves values that are not finite.
  virtual Status Initialize(uint64_t seed, std::span<float> parameters) const = 0;

  // Whether Sum works here: not without the trainer's function, nor for samples that its workers
  // alone load.
  virtual bool can_sum() const = 0;
  // On the device's thread. Adds the gradients and losses of these samples of `data`, without any
  // code. May be kCancelled once `cancelled` is set.
  virtual Status Sum(Device& device, StepId step, std::span<const float> parameters,
                     const DataSource& data, std::span<const uint32_t> rows,
                     const std::atomic<bool>& cancelled, std::span<float> gradient,
                     double& loss) = 0;
};

}  // namespace motley
