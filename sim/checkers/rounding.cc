// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/rounding.h"

#include <algorithm>
#include <cmath>

#include "coding/kernels/wire_floats.h"
#include "coding/schemes.h"
#include "runtime/links/packed_slice.h"
#include "runtime/links/route.h"
#include "runtime/survey/vector_placement.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

// Jobs whose codes multiply the variance of rounding by more are refused (api/request/job_plan.cc).
constexpr double kMostNoiseOfBf16 = 2500, kMostNoiseOfInt8 = 100;

Slicing CutOf(const JobOptions& job, size_t parameters) {
  const Route route(parameters, ShardsFor(job, VectorLength(parameters)));
  return route.Parameters(job.slice_length, job.wire);
}

// The largest error of a rounded slice, relative to its norm.
double ErrorOf(WireFormat wire, size_t slice_length) {
  if (wire == WireFormat::kFloat32) return 0;
  if (wire == WireFormat::kBf16) return 1.0 / 256;
  // Each value is off by less than a 127th of the block's largest one.
  return std::sqrt(static_cast<double>(std::min(slice_length, kInt8Block))) / 127;
}

}  // namespace

Rounding::Rounding(const JobOptions& job, size_t parameters)
    : wire_(job.wire),
      seed_(job.seed),
      cut_(CutOf(job, parameters)),
      most_(ErrorOf(job.wire, job.slice_length)) {
  if (!SchemeNamed(job.code).weighs) return;
  // The decoder multiplies each of at most `workers` errors by the weight of its answer.
  const double noise = wire_ == WireFormat::kInt8 ? kMostNoiseOfInt8 : kMostNoiseOfBf16;
  most_ *= std::sqrt(noise * job.workers);
}

std::vector<float> Rounding::Arrived(uint64_t version, std::span<const float> parameters) const {
  std::vector<float> arrived(parameters.begin(), parameters.end());
  if (wire_ == WireFormat::kFloat32) return arrived;
  Bytes bytes;
  for (size_t slice = 0; slice < cut_.count(); ++slice) {
    const std::span<float> values = std::span(arrived).subspan(cut_.begin(slice), cut_.size(slice));
    bytes.resize(cut_.bytes(slice));
    PackFloats(wire_, values, DrawsOfParameters(seed_, version, cut_.begin(slice)), bytes,
               values.data());
  }
  return arrived;
}

}  // namespace motley
