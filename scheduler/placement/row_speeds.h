// SPDX-License-Identifier: Apache-2.0
// Speeds to share rows by when answers take time besides computing. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace motley {

// Places of the `count` greatest speeds, ascending; among equals the first. All places if there are
// no more.
std::vector<size_t> FastestOf(const std::vector<double>& speeds, size_t count);

// Workers compute `speeds` (> 0) samples per second, and their answers take `waits` seconds (>= 0)
// besides. They finish at the same time T with loads speed * (T - wait), each at most `most`, in
// total `samples`. Returns load / T, or nearly nothing if T is too short for a worker. Returns the
// speeds unchanged if waits differ by little compared with T.
std::vector<double> SpeedsWithWaits(const std::vector<double>& speeds,
                                    const std::vector<double>& waits, double samples, double most);

}  // namespace motley
