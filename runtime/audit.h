// SPDX-License-Identifier: Apache-2.0
// The direct sum of a step's gradient over the whole data set, without any code: what a decoded
// gradient must equal. On the device's thread.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "base/status.h"
#include "devices/device.h"
#include "runtime/job_gradient.h"
#include "training/batch_schedule.h"
#include "training/data_source.h"

namespace motley {

// ||decoded - direct|| / ||direct|| over the gradient (loss and padding apart). `direct` is the
// plain sum, or, where the step was `approximate` (else null), that of every sample weighted with
// the coverage of its partition. May be kCancelled once `cancelled` is set.
Result<double> DecodeError(Device& device, JobGradient& gradient, const DataSource& data,
                           const BatchSchedule& schedule, StepId step,
                           std::span<const float> parameters, std::span<const float> decoded,
                           const ApproximateSum* approximate, const std::atomic<bool>& cancelled);

}  // namespace motley
