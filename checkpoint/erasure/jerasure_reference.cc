// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/erasure/jerasure_reference.h"

#include <fmt/format.h>
#include <jerasure.h>
#include <jerasure/cauchy.h>
#include <jerasure/reed_sol.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace motley {
namespace {

constexpr int kW = ErasureCode::kWordBits;

struct Free {
  void operator()(int* matrix) const { std::free(matrix); }
};
using Matrix = std::unique_ptr<int, Free>;

// Creates every table that Jerasure and GF-Complete would otherwise create at first use, without a
// lock. GF-Complete writes to the result of a failed allocation, so it is called only if there is
// enough memory: it takes less than 200 KB.
bool MakeTables() {
  constexpr size_t kRoom = size_t{1} << 20;
  void* volatile room = std::malloc(kRoom);  // Volatile keeps the compiler from removing the call.
  if (room == nullptr) return false;
  std::free(room);
  if (galois_init_default_field(kW) != 0 || galois_init_default_field(32) != 0) return false;
  for (const int parity : {2, 3}) {  // Jerasure has two ways to choose good Cauchy matrices.
    if (Matrix(cauchy_good_general_coding_matrix(2, parity, kW)) == nullptr) return false;
  }
  return true;
}

bool TablesReady() {
  static const bool ready = MakeTables();
  return ready;
}

std::vector<int> Widen(std::span<const uint8_t> bytes) {
  return std::vector<int>(bytes.begin(), bytes.end());
}

// Coefficients of block `wanted` over the sources. `inverse` (k x k) maps the sources to data.
void AppendRow(uint32_t data, std::span<const uint8_t> matrix, const std::vector<int>& inverse,
               uint32_t wanted, std::vector<uint8_t>& rows) {
  if (wanted < data) {
    const auto begin = inverse.begin() + static_cast<ptrdiff_t>(wanted * data);
    rows.insert(rows.end(), begin, begin + data);
    return;
  }
  const auto parity_row = matrix.subspan((wanted - data) * data, data);
  for (uint32_t column = 0; column < data; ++column) {
    int sum = 0;
    for (uint32_t j = 0; j < data; ++j) {
      sum ^= galois_single_multiply(parity_row[j], inverse[j * data + column], kW);
    }
    rows.push_back(static_cast<uint8_t>(sum));
  }
}

}  // namespace

Result<std::vector<uint8_t>> JerasureCodingMatrix(uint32_t data, uint32_t parity,
                                                  ErasureTechnique technique) {
  if (!TablesReady()) {
    return Status::Resource("out of memory for the tables of the erasure code");
  }
  if (parity == 0) return std::vector<uint8_t>();
  const auto make = technique == ErasureTechnique::kVandermonde ? reed_sol_vandermonde_coding_matrix
                                                                : cauchy_good_general_coding_matrix;
  const Matrix matrix(make(static_cast<int>(data), static_cast<int>(parity), kW));
  if (matrix == nullptr) {
    return Status::Resource(fmt::format("Jerasure cannot make a {} matrix of {} x {}",
                                        ErasureTechniqueName(technique), parity, data));
  }
  return std::vector<uint8_t>(matrix.get(), matrix.get() + size_t{data} * parity);
}

Result<ErasureSolution> JerasureSolve(uint32_t data, uint32_t parity,
                                      std::span<const uint8_t> matrix,
                                      const std::vector<bool>& present,
                                      const std::vector<bool>& wanted) {
  std::vector<int> coding = Widen(matrix);
  std::vector<int> erased(data + parity);
  for (uint32_t i = 0; i < data + parity; ++i) erased[i] = present[i] ? 0 : 1;
  std::vector<int> inverse(size_t{data} * data);
  std::vector<int> sources(data);
  if (jerasure_make_decoding_matrix(static_cast<int>(data), static_cast<int>(parity), kW,
                                    coding.data(), erased.data(), inverse.data(),
                                    sources.data()) != 0) {
    return Status::Internal("the erasure code's matrix cannot be inverted");
  }
  ErasureSolution solution;
  solution.sources.assign(sources.begin(), sources.end());
  for (uint32_t i = 0; i < data + parity; ++i) {
    if (wanted[i]) AppendRow(data, matrix, inverse, i, solution.rows);
  }
  return solution;
}

void JerasureMultiply(std::span<const uint8_t> rows, std::span<const std::byte* const> sources,
                      std::span<std::byte* const> destinations, size_t size) {
  // Chunks of this size stay in a core's own cache while every row reads them.
  constexpr size_t kPiece = size_t{1} << 16;
  constexpr size_t kMost = size_t{1} << 30;  // Jerasure counts bytes in int.
  const size_t piece = destinations.size() > 1 ? kPiece : std::min(size, kMost);
  const int k = static_cast<int>(sources.size());
  std::vector<int> coefficients = Widen(rows);
  std::vector<char*> from(sources.size());
  std::vector<char*> to(destinations.size());
  for (size_t begin = 0; begin < size; begin += piece) {
    const int length = static_cast<int>(std::min(piece, size - begin));
    for (size_t j = 0; j < from.size(); ++j) {
      // Jerasure takes char* for what it only reads.
      from[j] = const_cast<char*>(reinterpret_cast<const char*>(sources[j] + begin));
    }
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = reinterpret_cast<char*>(destinations[i] + begin);
    }
    for (int i = 0; i < static_cast<int>(to.size()); ++i) {
      jerasure_matrix_dotprod(k, kW, coefficients.data() + ptrdiff_t{i} * k, nullptr, k + i,
                              from.data(), to.data(), length);
    }
  }
}

}  // namespace motley
