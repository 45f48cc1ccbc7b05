// SPDX-License-Identifier: Apache-2.0
// Durations, sizes and rates as users write them: "0.2ms", "64MiB", "1Gbit/s". Units with an i are
// powers of 1024, others of 1000. A number without a unit is in seconds, bytes or bytes per second.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

enum class Quantity { kDuration, kSize, kRate };

// The value in seconds, bytes or bytes per second: finite and >= 0. kInvalidArgument names the text
// and lists the units.
Result<double> ParseQuantity(Quantity quantity, std::string_view text);

// The shortest text that ParseQuantity reads back as exactly `value`.
std::string FormatQuantity(Quantity quantity, double value);

}  // namespace motley
