// SPDX-License-Identifier: Apache-2.0
// Draws one step (SVG). Each worker has a lane that shows its assigned work, from assignment to
// arrival. The server has one too, and a line through all lanes shows when the step was decoded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/report/trace.h"

namespace motley {

// The step that took longest from opening to update; empty: no step was finished.
std::optional<uint64_t> SlowestStep(const std::vector<TraceSpan>& spans);

// kNotFound: `spans` has no finished step `step`; the error names the last finished one.
Result<std::string> TimelineSvg(const std::vector<TraceSpan>& spans,
                                const std::map<uint32_t, std::string>& worker_names, uint64_t step);

}  // namespace motley
