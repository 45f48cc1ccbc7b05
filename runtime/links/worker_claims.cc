// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/worker_claims.h"

#include <fmt/format.h>

#include <cmath>

namespace motley {
namespace {

// Samples per second. A calibration that takes no virtual time reports the maximum. The minimum is
// one sample in thirty years.
constexpr double kLeastSpeed = 1e-9, kMostSpeed = 1e12;
constexpr uint64_t kMostComputeNs = 1'000'000'000'000'000;  // Eleven days for one assignment.
constexpr uint64_t kMostHeldBytes = uint64_t{1} << 50;      // A pebibyte.

Status CheckSpeed(double speed) {
  if (speed == 0) return Status::Ok();  // The speed is not known.
  if (speed >= kLeastSpeed && speed <= kMostSpeed) return Status::Ok();
  return Status::DataError(
      fmt::format("it claims a speed of {} samples per second: from {} to {} "
                  "are possible, or 0 if it is not known",
                  speed, kLeastSpeed, kMostSpeed));
}

Status CheckCompute(uint64_t compute_ns) {
  if (compute_ns <= kMostComputeNs) return Status::Ok();
  return Status::DataError(fmt::format("it claims to have computed for {} ns: at most {} count",
                                       compute_ns, kMostComputeNs));
}

Status CheckSamples(uint64_t samples, uint64_t batch) {
  if (samples <= batch) return Status::Ok();
  return Status::DataError(
      fmt::format("it claims to have computed {} samples in a step of {}", samples, batch));
}

Status CheckHeld(uint64_t held_bytes) {
  if (held_bytes <= kMostHeldBytes) return Status::Ok();
  return Status::DataError(fmt::format("it claims to hold {} bytes of data: at most {} count",
                                       held_bytes, kMostHeldBytes));
}

}  // namespace

Status CheckClaims(const wire::ReadyT& ready) {
  MOTLEY_RETURN_IF_ERROR(CheckSpeed(ready.samples_per_second));
  return CheckHeld(ready.held_bytes);
}

Status CheckClaims(const wire::ProgressT& progress, uint64_t batch) {
  MOTLEY_RETURN_IF_ERROR(CheckSamples(progress.samples, batch));
  return CheckCompute(progress.compute_ns);
}

Status CheckClaims(const wire::AnswerEndT& end, uint64_t batch) {
  MOTLEY_RETURN_IF_ERROR(CheckSamples(end.samples, batch));
  MOTLEY_RETURN_IF_ERROR(CheckCompute(end.compute_ns));
  return CheckHeld(end.held_bytes);
}

}  // namespace motley
