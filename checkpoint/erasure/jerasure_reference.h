// SPDX-License-Identifier: Apache-2.0
// Jerasure behind checked calls, for w = 8: it defines the matrices and the bytes. Its tables are
// made once, before the first use (for w = 32 too, which its XOR of regions goes through); from
// then on it is only read, so that any thread may call, several at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "checkpoint/erasure/erasure_code.h"

namespace motley {

// m rows of k. The caller has checked 1 <= k, k + m <= 256. kResource when Jerasure cannot.
Result<std::vector<uint8_t>> JerasureCodingMatrix(uint32_t data, uint32_t parity,
                                                  ErasureTechnique technique);

struct ErasureSolution {
  std::vector<uint32_t> sources;  // k present blocks.
  std::vector<uint8_t> rows;      // For each wanted block, k coefficients of the sources.
};

// At least k blocks are present. kInternal should the sources not determine the rest.
Result<ErasureSolution> JerasureSolve(uint32_t data, uint32_t parity,
                                      std::span<const uint8_t> matrix,
                                      const std::vector<bool>& present,
                                      const std::vector<bool>& wanted);

// destinations[i] = sum_j rows[i k + j] sources[j], k being the number of sources. Every block has
// `size` bytes, a multiple of ErasureCode::kBlockMultiple, aligned to kBlockAlignment.
void JerasureMultiply(std::span<const uint8_t> rows, std::span<const std::byte* const> sources,
                      std::span<std::byte* const> destinations, size_t size);

}  // namespace motley
