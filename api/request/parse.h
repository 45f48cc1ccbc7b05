// SPDX-License-Identifier: Apache-2.0
// Parses values of command-line flags. Every error is kInvalidArgument, names the flag and the
// wrong part, and shows the right form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace motley {

// "1,1,0.5": numbers from 0.001 to 1e6, the largest at most 1000 times the smallest.
Result<std::vector<double>> ParseSpeeds(std::string_view flag, std::string_view text);
// "2ms", "1.5s", "250us", "800ns": at least 1ns, at most `most_seconds`.
Result<Duration> ParseDuration(std::string_view flag, std::string_view text,
                               double most_seconds = 60);

}  // namespace motley
