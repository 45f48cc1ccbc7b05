// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coding/gradient_code.h"

namespace motley {
namespace {

// The most coefficients in B (24 bytes each); more are surely a mistake.
constexpr uint64_t kMostCoefficients = uint64_t{1} << 28;

Status CheckRequest(std::string_view name, const CodeRequest& request) {
  const size_t workers = request.speeds.size();
  if (workers == 0) return Status::InvalidArgument("a code needs at least one worker");
  for (size_t i = 0; i < workers; ++i) {
    if (!(request.speeds[i] > 0) || !std::isfinite(request.speeds[i])) {
      return Status::InvalidArgument(fmt::format(
          "the speed of worker {} is {}; speeds must be above 0", i, request.speeds[i]));
    }
  }
  if (request.stragglers >= workers) {
    return Status::InvalidArgument(
        fmt::format("cannot tolerate {} stragglers among {} workers; tolerate at most {}",
                    request.stragglers, workers, workers - 1));
  }
  if (request.partitions < workers) {
    return Status::InvalidArgument(
        fmt::format("{} partitions are too few for {} workers; each worker needs at least one",
                    request.partitions, workers));
  }
  const uint64_t parts = SchemeNamed(name).has_parts ? std::min(request.parts, kMaxParts) : 1;
  const uint64_t coefficients = request.partitions * (request.stragglers + parts) * parts;
  if (coefficients > kMostCoefficients) {
    return Status::InvalidArgument(fmt::format(
        "{} partitions with {} stragglers need {} coefficients, more than {}; use fewer "
        "partitions or tolerate fewer stragglers",
        request.partitions, request.stragglers, coefficients, kMostCoefficients));
  }
  return Status::Ok();
}

}  // namespace

Result<CodeForm> BuildCode(std::string_view name, const CodeRequest& request) {
  std::string names;
  for (const Scheme& code : CodedSchemes()) {
    if (name == code.name) {
      MOTLEY_RETURN_IF_ERROR(CheckRequest(name, request));
      return code.build(request);
    }
    names += names.empty() ? code.name : fmt::format(", {}", code.name);
  }
  return Status::NotFound(fmt::format("there is no code \"{}\"; there are: {}", name, names));
}

}  // namespace motley
