// SPDX-License-Identifier: Apache-2.0
// How a job's data and a worker's work are cut: one rule for jobs and for those who predict them.
// What is on a device cannot be stopped any more, and each piece of work costs its start.
#pragma once

#include <algorithm>
#include <cstdint>

namespace motley {

// Partitions of a job: shares can then follow speeds within a sixteenth of an equal share.
inline constexpr uint64_t kPartitionsPerWorker = 16;
inline constexpr uint64_t kLeastPartitions = 64;

inline constexpr uint64_t kLeastPieceSamples = 32;
inline constexpr uint64_t kPiecesOfRow = 6;
inline constexpr uint64_t kPartsOfTheRest = 8;

// Whole partitions are added to a piece until it has so many samples: of a row of `total`,
inline uint64_t RowPieceSamples(uint64_t total) {
  return std::max(kLeastPieceSamples, (total + kPiecesOfRow - 1) / kPiecesOfRow);
}
// and of leases of which `left` are not begun.
inline uint64_t LeasePieceSamples(uint64_t left) {
  return std::max(kLeastPieceSamples, left / kPartsOfTheRest);
}

}  // namespace motley
