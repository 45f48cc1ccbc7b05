// SPDX-License-Identifier: Apache-2.0
// How a job's data and a worker's work are cut: one rule for jobs and for their predictions. A
// piece of work on a device cannot be stopped, and each piece costs its start.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace motley {

// Partitions of a job. Shares can then follow speeds within a sixteenth of an equal share.
inline constexpr uint64_t kPartitionsPerWorker = 16;
inline constexpr uint64_t kLeastPartitions = 64;

inline constexpr uint64_t kLeastPieceSamples = 32;
inline constexpr uint64_t kPiecesOfRow = 6;
inline constexpr uint64_t kPartsOfTheRest = 8;
// A trainer that divides its pieces itself gets leases in pieces of at least this time, because
// each call costs it a start of its own, for example a forward and a backward pass.
inline constexpr std::chrono::milliseconds kLeastCallTime{20};

// A row of `total` samples is cut into pieces of whole partitions with at least this many samples.
inline uint64_t RowPieceSamples(uint64_t total) {
  return std::max(kLeastPieceSamples, (total + kPiecesOfRow - 1) / kPiecesOfRow);
}
// The same for leases of which `left` samples are not begun.
inline uint64_t LeasePieceSamples(uint64_t left) {
  return std::max(kLeastPieceSamples, left / kPartsOfTheRest);
}

}  // namespace motley
