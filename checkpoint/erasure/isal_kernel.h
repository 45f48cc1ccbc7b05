// SPDX-License-Identifier: Apache-2.0
// ISA-L's kernels over GF(2^8). The library is loaded at run time if it is installed, so the
// program neither needs it nor is built against it. Its generator matrices are not used:
// gf_gen_rs_matrix is not MDS (k = 6, m = 5 already fails).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace motley {

// The functions ec_init_tables and ec_encode_data of libisal.so.2.
struct IsalKernel {
  void (*init_tables)(int k, int rows, unsigned char* matrix, unsigned char* tables);
  void (*encode)(int size, int k, int rows, unsigned char* tables, unsigned char** sources,
                 unsigned char** destinations);

  // The matrix (rows of k coefficients) in the form that `encode` takes.
  std::vector<uint8_t> Tables(std::span<const uint8_t> matrix, size_t k) const;
  // Like JerasureMultiply, with `tables` in place of the rows.
  void Multiply(std::span<const uint8_t> tables, std::span<const std::byte* const> sources,
                std::span<std::byte* const> destinations, size_t size) const;
};

struct IsalLibrary {
  const IsalKernel* kernel = nullptr;  // Null: not usable; `reason` says why.
  std::string reason;
};

// The library, looked up once and checked against Jerasure's arithmetic. Stays loaded. Any thread.
const IsalLibrary& Isal();

}  // namespace motley
