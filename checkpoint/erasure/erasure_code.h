// SPDX-License-Identifier: Apache-2.0
// Erasure code of checkpoints: k data blocks get m parity blocks, and any k of the k + m restore
// all. Systematic Reed-Solomon over GF(2^8), polynomial 0x11d. The generator matrices, and so the
// bytes of the format, are Jerasure's (Plank & Greenan, Jerasure 2.0, 2014):
//   vandermonde  reed_sol_vandermonde_coding_matrix
//   cauchy       cauchy_good_general_coding_matrix
// In both, the first parity block is the XOR of the data. Both are MDS for all k + m <= 256.
// Jerasure's kernels are the reference. ISA-L's kernels, if installed, give the same bytes faster.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace motley {

// The numbers are part of the checkpoint format.
enum class ErasureTechnique : uint8_t { kVandermonde = 1, kCauchy = 2 };

std::string_view ErasureTechniqueName(ErasureTechnique technique);  // "vandermonde", "cauchy"

// The library that multiplies. All give the same bytes.
enum class ErasureKernel : uint8_t {
  kFastest,   // ISA-L if it is installed, else Jerasure.
  kJerasure,  // The reference implementation.
  kIsal,
};

// True if ISA-L's library was found. If not, sets `reason` (may be null) to the reason.
bool IsalAvailable(std::string* reason = nullptr);

// Immutable after Create, so any number of threads may use it. Calls do not allocate blocks.
class ErasureCode {
 public:
  static constexpr uint32_t kWordBits = 8;      // w of the field GF(2^w).
  static constexpr uint32_t kMostBlocks = 256;  // Most k + m in GF(2^8).
  static constexpr size_t kBlockMultiple = 64;  // In bytes; a block's size is a multiple of it.
  // In bytes; blocks start at a multiple of it, like operator new's memory.
  static constexpr size_t kBlockAlignment = 16;

  // kInvalidArgument unless 1 <= data and data + parity <= 256. kUnavailable: `kernel` is kIsal,
  // which is not installed. Any thread; the first call initialises Jerasure's tables.
  static Result<ErasureCode> Create(uint32_t data, uint32_t parity, ErasureTechnique technique,
                                    ErasureKernel kernel = ErasureKernel::kFastest);

  uint32_t data() const { return data_; }      // k
  uint32_t parity() const { return parity_; }  // m
  uint32_t blocks() const { return data_ + parity_; }
  ErasureTechnique technique() const { return technique_; }
  ErasureKernel kernel() const { return kernel_; }  // Never kFastest.
  // m rows of k coefficients: parity block i is sum_j matrix[i k + j] data block j.
  std::span<const uint8_t> matrix() const { return matrix_; }

  // Computes the m parity blocks from the k data blocks. kInvalidArgument: wrong counts, unequal
  // sizes, a size that is not a multiple of kBlockMultiple, or a block that is not aligned to
  // kBlockAlignment.
  Status Encode(std::span<const BytesView> data,
                std::span<const std::span<std::byte>> parity) const;

  // Computes the `wanted` blocks from the present ones. `blocks` are all k + m, data first; present
  // blocks may not be wanted. Other blocks are neither read nor written, and may be empty spans.
  // kNotDecodable: fewer than k are present and something is wanted. kInvalidArgument as for
  // Encode.
  Status Reconstruct(std::span<const std::span<std::byte>> blocks, const std::vector<bool>& present,
                     const std::vector<bool>& wanted) const;
  // Computes every block that is not present.
  Status Reconstruct(std::span<const std::span<std::byte>> blocks,
                     const std::vector<bool>& present) const;

 private:
  ErasureCode() = default;

  std::optional<uint32_t> LastBySum(const std::vector<bool>& present,
                                    const std::vector<bool>& wanted) const;
  Status Multiply(std::span<const std::span<std::byte>> blocks, const std::vector<bool>& present,
                  const std::vector<bool>& wanted) const;

  uint32_t data_ = 0;
  uint32_t parity_ = 0;
  ErasureTechnique technique_ = ErasureTechnique::kVandermonde;
  ErasureKernel kernel_ = ErasureKernel::kJerasure;
  std::vector<uint8_t> matrix_;
  std::vector<uint8_t> tables_;  // ISA-L's expansion of the matrix; else empty.
};

}  // namespace motley
