// SPDX-License-Identifier: Apache-2.0
// Whole shares in proportion to speed. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace motley {

// Shares n_i with sum n_i = total and n_i <= cap that minimise max n_i / speed_i, the step's time.
// They start as proportional shares rounded down. The rest goes one at a time to the worker with
// the least (n_i + 1) / speed_i, or the lowest index of several. Speeds are finite and > 0; total
// is at most cap times their number.
std::vector<uint32_t> Allocate(std::span<const double> speeds, uint64_t total, uint32_t cap);

// Splits workers into `count` (<= workers) non-empty classes of nearly equal total speed, by the
// largest differencing method (Karmarkar and Karp 1982) for several classes. Members ascend, and
// classes ascend by their first member.
std::vector<std::vector<WorkerId>> BalancedClasses(std::span<const double> speeds, uint32_t count);

// True when all speeds agree within 1e-9 of the largest.
bool EqualSpeeds(std::span<const double> speeds);

}  // namespace motley
