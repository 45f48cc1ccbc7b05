// SPDX-License-Identifier: Apache-2.0
// Speeds to share rows by where answers take time besides computing. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace motley {

// Places of the `count` greatest speeds, ascending; of equals the first. All of them if there are
// no more.
std::vector<size_t> FastestOf(const std::vector<double>& speeds, size_t count);

// Workers that compute `speeds` (> 0) samples per second and whose answer takes `waits` seconds
// (>= 0) besides are done at the same time T with loads speed * (T - wait), at most `most` each and
// `samples` together: returns load / T, or next to nothing for whom T is too short. Where waits
// differ by little of T, the speeds as they are.
std::vector<double> SpeedsWithWaits(const std::vector<double>& speeds,
                                    const std::vector<double>& waits, double samples, double most);

}  // namespace motley
