// SPDX-License-Identifier: Apache-2.0
#include "runtime/job.h"

#include <fmt/format.h>

#include <algorithm>

namespace motley {
namespace {

// Shares can then follow speeds within a sixteenth of an equal share.
constexpr uint64_t kPartitionsPerWorker = 16;
constexpr uint64_t kMinPartitions = 64;

}  // namespace

Result<uint32_t> PartitionCount(uint64_t samples, uint32_t workers) {
  if (workers == 0) return Status::InvalidArgument("a job needs at least one worker");
  if (samples < workers) {
    return Status::InvalidArgument(
        fmt::format("{} workers for {} training samples: each worker needs at least one sample; "
                    "use fewer workers or more data",
                    workers, samples));
  }
  const uint64_t wanted = std::max(kPartitionsPerWorker * workers, kMinPartitions);
  return static_cast<uint32_t>(std::min(wanted, samples));
}

}  // namespace motley
