// SPDX-License-Identifier: Apache-2.0
#include "sim/simulated_scheme.h"

#include <algorithm>

#include "coding/schemes.h"
#include "runtime/job.h"

namespace motley {
namespace {

// A vector has no more slices than this. Fewer would change what a job learns: with coarse slices
// workers come one after the other (docs/decisions/0038-plan-is-simulated.md).
constexpr uint64_t kMostSlices = 64;
constexpr uint64_t kFiner = 4;

}  // namespace

SimulatedJobCode SimulatedCodeOf(const Candidate& candidate) {
  const Scheme& scheme = SchemeNamed(candidate.scheme);
  SimulatedJobCode code;
  code.code = candidate.scheme;
  code.tolerate = scheme.Tolerates(candidate.copies);
  code.workers = candidate.workers;
  if (scheme.has_parts) code.parts = scheme.Parts(candidate.copies);
  return code;
}

Candidate CandidateOf(const CodeChoice& choice) {
  return {choice.code, choice.tolerate + (SchemeNamed(choice.code).has_parts ? 2 : 1)};
}

uint32_t SimulatedSliceLength(uint64_t gradient_bytes, bool meshed) {
  const uint64_t finer = meshed ? kFiner : 1;
  const uint64_t pairs = gradient_bytes / (2 * sizeof(float));
  const auto least = JobOptions().slice_length / finer;
  return static_cast<uint32_t>(std::clamp(
      2 * ((pairs + finer * kMostSlices - 1) / (finer * kMostSlices)), least, uint64_t{1} << 30));
}

}  // namespace motley
