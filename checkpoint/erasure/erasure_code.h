// SPDX-License-Identifier: Apache-2.0
// Erasure code of checkpoints: k data blocks get m parity blocks, and any k of the k + m give back
// all. Systematic Reed-Solomon over GF(2^8), polynomial 0x11d; the generator matrices, and so the
// bytes of the format, are Jerasure's (Plank & Greenan, Jerasure 2.0, 2014):
//   vandermonde  reed_sol_vandermonde_coding_matrix
//   cauchy       cauchy_good_general_coding_matrix
// The first parity block of both is the XOR of the data.
// Both are MDS for all k + m <= 256. Jerasure's kernels are the reference; where ISA-L's library is
// installed its kernels give the same bytes faster.
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

// Who multiplies. The bytes never depend on it.
enum class ErasureKernel : uint8_t {
  kFastest,   // ISA-L where it is installed, else Jerasure.
  kJerasure,  // The reference.
  kIsal,
};

// Whether ISA-L's library was found; if not, `reason` (when given) says why.
bool IsalAvailable(std::string* reason = nullptr);

// Immutable after Create: any thread, several at once. Calls allocate no block.
class ErasureCode {
 public:
  static constexpr uint32_t kWordBits = 8;       // w
  static constexpr uint32_t kMostBlocks = 256;   // k + m, what GF(2^8) has room for.
  static constexpr size_t kBlockMultiple = 64;   // Bytes: a block's size is a multiple of it.
  static constexpr size_t kBlockAlignment = 16;  // Bytes: of a block's first; operator new's.

  // kInvalidArgument unless 1 <= data and data + parity <= 256; kUnavailable when `kernel` is kIsal
  // and it is not installed. Any thread; the first call initialises Jerasure's tables.
  static Result<ErasureCode> Create(uint32_t data, uint32_t parity, ErasureTechnique technique,
                                    ErasureKernel kernel = ErasureKernel::kFastest);

  uint32_t data() const { return data_; }      // k
  uint32_t parity() const { return parity_; }  // m
  uint32_t blocks() const { return data_ + parity_; }
  ErasureTechnique technique() const { return technique_; }
  ErasureKernel kernel() const { return kernel_; }  // Never kFastest.
  // m rows of k coefficients: parity block i is sum_j matrix[i k + j] data block j.
  std::span<const uint8_t> matrix() const { return matrix_; }

  // Fills the m parity blocks from the k data blocks. kInvalidArgument unless the counts are right,
  // all sizes are one multiple of kBlockMultiple and all blocks start at one of kBlockAlignment.
  Status Encode(std::span<const BytesView> data,
                std::span<const std::span<std::byte>> parity) const;

  // `blocks` are all k + m, data first. Fills those that are `wanted` (present ones may not be)
  // from those that are present; the others are neither read nor written and may be empty spans.
  // kNotDecodable when fewer than k are present and something is wanted; kInvalidArgument as above.
  Status Reconstruct(std::span<const std::span<std::byte>> blocks, const std::vector<bool>& present,
                     const std::vector<bool>& wanted) const;
  // Everything that is not present is wanted.
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
  std::vector<uint8_t> tables_;  // ISA-L's expansion of the matrix; empty otherwise.
};

}  // namespace motley
