// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/erasure/erasure_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "checkpoint/erasure/isal_kernel.h"
#include "checkpoint/erasure/jerasure_reference.h"

namespace motley {
namespace {

// kInvalidArgument unless `block` has `size` bytes and the alignment that kernels need.
Status CheckBlock(BytesView block, size_t size) {
  if (block.size() != size || size % ErasureCode::kBlockMultiple != 0) {
    return Status::InvalidArgument(
        fmt::format("a block of {} bytes, but others have {}; they must be of one size, a "
                    "multiple of {}",
                    block.size(), size, ErasureCode::kBlockMultiple));
  }
  if (reinterpret_cast<uintptr_t>(block.data()) % ErasureCode::kBlockAlignment != 0) {
    return Status::InvalidArgument(fmt::format(
        "a block that does not start at a multiple of {} bytes", ErasureCode::kBlockAlignment));
  }
  return Status::Ok();
}

Status CheckCount(const char* what, size_t count, size_t wanted) {
  if (count == wanted) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("{} {} blocks, but the code has {}", count, what, wanted));
}

bool UsesIsal(ErasureKernel kernel) { return kernel == ErasureKernel::kIsal; }

}  // namespace

std::string_view ErasureTechniqueName(ErasureTechnique technique) {
  return technique == ErasureTechnique::kCauchy ? "cauchy" : "vandermonde";
}

bool IsalAvailable(std::string* reason) {
  if (reason != nullptr) *reason = Isal().reason;
  return Isal().kernel != nullptr;
}

Result<ErasureCode> ErasureCode::Create(uint32_t data, uint32_t parity, ErasureTechnique technique,
                                        ErasureKernel kernel) {
  if (data < 1 || data > kMostBlocks || parity > kMostBlocks - data) {
    return Status::InvalidArgument(fmt::format(
        "an erasure code of {} + {} blocks: it needs at least one data block and at most {} in all",
        data, parity, kMostBlocks));
  }
  if (technique != ErasureTechnique::kVandermonde && technique != ErasureTechnique::kCauchy) {
    return Status::InvalidArgument(
        fmt::format("erasure technique number {} is unknown", static_cast<int>(technique)));
  }
  if (kernel == ErasureKernel::kIsal && Isal().kernel == nullptr) {
    return Status::Unavailable("ISA-L's kernels: " + Isal().reason +
                               " (Debian's package is libisal2)");
  }
  ErasureCode code;
  code.data_ = data;
  code.parity_ = parity;
  code.technique_ = technique;
  code.kernel_ = Isal().kernel != nullptr && kernel != ErasureKernel::kJerasure
                     ? ErasureKernel::kIsal
                     : ErasureKernel::kJerasure;
  MOTLEY_ASSIGN_OR_RETURN(code.matrix_, JerasureCodingMatrix(data, parity, technique));
  if (UsesIsal(code.kernel_) && parity > 0) {
    code.tables_ = Isal().kernel->Tables(code.matrix_, data);
  }
  return code;
}

Status ErasureCode::Encode(std::span<const BytesView> data,
                           std::span<const std::span<std::byte>> parity) const {
  MOTLEY_RETURN_IF_ERROR(CheckCount("data", data.size(), data_));
  MOTLEY_RETURN_IF_ERROR(CheckCount("parity", parity.size(), parity_));
  const size_t size = data[0].size();
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (const BytesView block : data) {
    MOTLEY_RETURN_IF_ERROR(CheckBlock(block, size));
    from.push_back(block.data());
  }
  for (const std::span<std::byte> block : parity) {
    MOTLEY_RETURN_IF_ERROR(CheckBlock(block, size));
    to.push_back(block.data());
  }
  if (to.empty() || size == 0) return Status::Ok();
  if (UsesIsal(kernel_)) {
    Isal().kernel->Multiply(tables_, from, to, size);
  } else {
    JerasureMultiply(matrix_, from, to, size);
  }
  return Status::Ok();
}

Status ErasureCode::Reconstruct(std::span<const std::span<std::byte>> blocks,
                                const std::vector<bool>& present,
                                const std::vector<bool>& wanted) const {
  MOTLEY_RETURN_IF_ERROR(CheckCount("data and parity", blocks.size(), this->blocks()));
  MOTLEY_RETURN_IF_ERROR(CheckCount("present or missing", present.size(), this->blocks()));
  MOTLEY_RETURN_IF_ERROR(CheckCount("wanted or unwanted", wanted.size(), this->blocks()));
  std::optional<size_t> first;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (present[i] && wanted[i]) return Status::InvalidArgument("a present block is wanted");
    if (!present[i] && !wanted[i]) continue;
    if (!first) first = blocks[i].size();
    MOTLEY_RETURN_IF_ERROR(CheckBlock(blocks[i], *first));
  }
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return Status::Ok();
  const auto there = static_cast<size_t>(std::count(present.begin(), present.end(), true));
  if (there < data_) {
    return Status::NotDecodable(
        fmt::format("{} of {} blocks are there, {} are needed", there, blocks.size(), data_));
  }
  if (*first == 0) return Status::Ok();
  if (UsesIsal(kernel_)) return Multiply(blocks, present, wanted);
  const std::optional<uint32_t> last = LastBySum(present, wanted);
  if (!last) return Multiply(blocks, present, wanted);
  std::vector<bool> others = wanted;
  others[*last] = false;
  MOTLEY_RETURN_IF_ERROR(Multiply(blocks, present, others));
  // XOR is many times faster than multiplying.
  std::vector<const std::byte*> from;
  for (uint32_t i = 0; i <= data_; ++i) {
    if (i != *last) from.push_back(blocks[i].data());
  }
  std::byte* const sum = blocks[*last].data();
  JerasureMultiply(std::vector<uint8_t>(data_, 1), from, {&sum, 1}, *first);
  return Status::Ok();
}

// The last wanted data block, if the first parity block is present: that block is the XOR of all
// data, and all other data blocks are there by then.
std::optional<uint32_t> ErasureCode::LastBySum(const std::vector<bool>& present,
                                               const std::vector<bool>& wanted) const {
  if (!present[data_]) return std::nullopt;
  const auto first_row = std::span(matrix_).first(data_);
  if (std::count(first_row.begin(), first_row.end(), 1) < data_) return std::nullopt;
  std::optional<uint32_t> last;
  for (uint32_t i = 0; i < data_; ++i) {
    if (!present[i] && !wanted[i]) return std::nullopt;
    if (wanted[i]) last = i;
  }
  return last;
}

// Requires checked blocks, enough of them present.
Status ErasureCode::Multiply(std::span<const std::span<std::byte>> blocks,
                             const std::vector<bool>& present,
                             const std::vector<bool>& wanted) const {
  std::vector<std::byte*> to;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (wanted[i]) to.push_back(blocks[i].data());
  }
  if (to.empty()) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(const ErasureSolution solution,
                          JerasureSolve(data_, parity_, matrix_, present, wanted));
  std::vector<const std::byte*> from;
  for (const uint32_t source : solution.sources) from.push_back(blocks[source].data());
  const size_t size = blocks[solution.sources[0]].size();
  if (UsesIsal(kernel_)) {
    const IsalKernel& isal = *Isal().kernel;
    isal.Multiply(isal.Tables(solution.rows, data_), from, to, size);
  } else {
    JerasureMultiply(solution.rows, from, to, size);
  }
  return Status::Ok();
}

Status ErasureCode::Reconstruct(std::span<const std::span<std::byte>> blocks,
                                const std::vector<bool>& present) const {
  std::vector<bool> wanted = present;
  wanted.flip();
  return Reconstruct(blocks, present, wanted);
}

}  // namespace motley
