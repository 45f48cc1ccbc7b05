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

Slicing CutOf(const JobOptions& job, size_t parameters) {
  const Route route(parameters, ShardsFor(job, VectorLength(parameters)));
  return route.Parameters(job.slice_length, job.wire);
}

// The largest error of a rounded slice, relative to its norm.
double ErrorOf(WireFormat wire, size_t slice_length) {
  const WireForm& form = FormOf(wire);
  return form.error * std::sqrt(static_cast<double>(std::min(slice_length, form.block)));
}

}  // namespace

Rounding::Rounding(const JobOptions& job, size_t parameters)
    : wire_(job.wire),
      seed_(job.seed),
      cut_(CutOf(job, parameters)),
      most_(ErrorOf(job.wire, job.slice_length)) {
  if (!SchemeNamed(job.code).weighs) return;
  // The decoder multiplies each of at most `workers` errors by the weight of its answer.
  // Jobs with more noise are refused (api/request/job_plan.cc).
  most_ *= std::sqrt(FormOf(wire_).most_noise * job.workers);
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
