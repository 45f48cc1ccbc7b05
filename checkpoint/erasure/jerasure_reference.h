// SPDX-License-Identifier: Apache-2.0
// Jerasure with checked calls, for w = 8. It defines the matrices and the bytes of the format. Its
// tables are created once, before the first use (also for w = 32, which its XOR of regions uses).
// Afterwards they are only read, so any number of threads may call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "checkpoint/erasure/erasure_code.h"

namespace motley {

// m rows of k coefficients. The caller has checked 1 <= k and k + m <= 256. kResource: Jerasure
// cannot allocate.
Result<std::vector<uint8_t>> JerasureCodingMatrix(uint32_t data, uint32_t parity,
                                                  ErasureTechnique technique);

struct ErasureSolution {
  std::vector<uint32_t> sources;  // Numbers of k present blocks.
  std::vector<uint8_t> rows;      // k coefficients of the sources for each wanted block.
};

// At least k blocks must be present. kInternal: the sources do not determine the rest.
Result<ErasureSolution> JerasureSolve(uint32_t data, uint32_t parity,
                                      std::span<const uint8_t> matrix,
                                      const std::vector<bool>& present,
                                      const std::vector<bool>& wanted);

// destinations[i] = sum_j rows[i k + j] sources[j], where k is the number of sources. Every block
// has `size` bytes, a multiple of ErasureCode::kBlockMultiple, and is aligned to kBlockAlignment.
void JerasureMultiply(std::span<const uint8_t> rows, std::span<const std::byte* const> sources,
                      std::span<std::byte* const> destinations, size_t size);

}  // namespace motley
