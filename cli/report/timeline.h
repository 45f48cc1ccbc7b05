// SPDX-License-Identifier: Apache-2.0
// A picture of one step (SVG): a lane for each worker with what it was given, from assignment to
// arrival, and one for the server; when the step was decoded is a line through all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/report/trace.h"

namespace motley {

// The step that took longest from opening to update; none when no step was finished.
std::optional<uint64_t> SlowestStep(const std::vector<TraceSpan>& spans);

// kNotFound when `spans` has no finished step of that number, with those there are.
Result<std::string> TimelineSvg(const std::vector<TraceSpan>& spans,
                                const std::map<uint32_t, std::string>& worker_names, uint64_t step);

}  // namespace motley
