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

// Coefficients in B (24 bytes each) that are surely a mistake.
constexpr uint64_t kMostCoefficients = uint64_t{1} << 28;

Status CheckRequest(std::string_view name, const CodeRequest& request) {
  const size_t workers = request.speeds.size();
  if (workers == 0) return Status::InvalidArgument("a code needs at least one worker");
  for (size_t i = 0; i < workers; ++i) {
    if (!(request.speeds[i] > 0) || !std::isfinite(request.speeds[i])) {
      return Status::InvalidArgument(
          fmt::format("the speed of worker {} is {}: speeds are above 0", i, request.speeds[i]));
    }
  }
  if (request.stragglers >= workers) {
    return Status::InvalidArgument(
        fmt::format("cannot tolerate {} stragglers among {} workers: at most {}",
                    request.stragglers, workers, workers - 1));
  }
  if (request.partitions < workers) {
    return Status::InvalidArgument(
        fmt::format("{} partitions are too few for {} workers: at least one each",
                    request.partitions, workers));
  }
  const uint64_t parts = HasParts(name) ? std::min(request.parts, kMaxParts) : 1;
  const uint64_t coefficients = request.partitions * (request.stragglers + parts) * parts;
  if (coefficients > kMostCoefficients) {
    return Status::InvalidArgument(fmt::format(
        "{} partitions with {} stragglers need {} coefficients, more than {}: use fewer "
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
      {"cyclic", "Tandon's random cyclic code; equal shares whatever the speeds; for small n and s",
       &BuildCyclicCode, false},
      {"heterogeneous", "coded shares that follow the speeds (Wang et al.), on the unit circle",
       &BuildHeterogeneousCode, true},
      {"group", "heterogeneous shares, plain sums in groups that tile the data, coded outside them",
       &BuildGroupCode, true},
      {"rs", "Reed-Solomon on the unit circle; equal shares whatever the speeds",
       &BuildReedSolomonCode, false},
      {"graph", "two blocks per worker, plain sums; little error beyond s; equal shares",
       &BuildGraphCode, false},
      {"multi-message", "a vector for every few partitions, the first copy of each counts; no code",
       &BuildMultiMessageCode, true},
      {"approximate", "copies as of repetition; a step need not wait for what exactness takes",
       &BuildApproximateCode, true},
      {"short", "answers 1/m as long as a gradient, for s + m copies; for thin links (Ye and Abbe)",
       &BuildShortCode, true},
      {"partial-coded",
       "answers 1/m as long, weighted by who has done what of up to s + m copies (Ramamoorthy)",
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
