// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coding/codes/approximate_code.h"
#include "coding/codes/cyclic_code.h"
#include "coding/codes/graph_code.h"
#include "coding/codes/group_code.h"
#include "coding/codes/heterogeneous_code.h"
#include "coding/codes/multi_message_code.h"
#include "coding/codes/none_code.h"
#include "coding/codes/partial_coded_code.h"
#include "coding/codes/repetition_code.h"
#include "coding/codes/rs_code.h"
#include "coding/codes/short_code.h"
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
  const uint64_t parts = HasParts(name) ? std::min(request.parts, kMaxParts) : 1;
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

const std::vector<GradientCode>& GradientCodes() {
  static const std::vector<GradientCode> codes = {
      {"none", "no redundancy; shares follow the speeds; every answer is needed", &BuildNoneCode,
       true},
      {"repetition", "copies with plain sums; shares follow the speeds; exact to rounding",
       &BuildRepetitionCode, true},
      {"cyclic",
       "random cyclic code (Tandon et al.); equal shares at any speeds; for small n and s",
       &BuildCyclicCode, false},
      {"heterogeneous", "coded shares that follow the speeds (Wang et al.), on the unit circle",
       &BuildHeterogeneousCode, true},
      {"group",
       "heterogeneous shares; plain sums in groups that tile the data, coded sums elsewhere",
       &BuildGroupCode, true},
      {"rs", "Reed-Solomon on the unit circle; equal shares at any speeds", &BuildReedSolomonCode,
       false},
      {"graph", "two blocks per worker, plain sums; small error beyond s; equal shares",
       &BuildGraphCode, false},
      {"multi-message", "a vector for every few partitions; the first copy of each counts; no code",
       &BuildMultiMessageCode, true},
      {"approximate", "copies like repetition; a step may end before the sum is exact",
       &BuildApproximateCode, true},
      {"short", "answers of 1/m of a gradient, for s + m copies; for thin links (Ye and Abbe)",
       &BuildShortCode, true},
      {"partial-coded",
       "answers of 1/m of a gradient from whichever of s + m copies are done (Ramamoorthy)",
       &BuildPartialCodedCode, true},
  };
  return codes;
}

bool HasParts(std::string_view code) { return code == "short" || code == "partial-coded"; }

uint32_t CopiesOf(std::string_view code, uint32_t stragglers, uint32_t parts) {
  if (code == "none") return 1;
  return stragglers + (HasParts(code) ? parts : 1);
}

Result<CodeForm> BuildCode(std::string_view name, const CodeRequest& request) {
  std::string names;
  for (const GradientCode& code : GradientCodes()) {
    if (name == code.name) {
      MOTLEY_RETURN_IF_ERROR(CheckRequest(name, request));
      return code.build(request);
    }
    names += names.empty() ? code.name : fmt::format(", {}", code.name);
  }
  return Status::NotFound(fmt::format("there is no code \"{}\"; there are: {}", name, names));
}

}  // namespace motley
