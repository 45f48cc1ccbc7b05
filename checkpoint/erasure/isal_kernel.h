// SPDX-License-Identifier: Apache-2.0
// ISA-L's kernels over GF(2^8), from the library that is installed, if any: loaded at run time, so
// that the program neither needs it nor is built against it. Its generator matrices are not used:
// gf_gen_rs_matrix is not MDS (k = 6, m = 5 already fails).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace motley {

// ec_init_tables and ec_encode_data, as libisal.so.2 exports them.
struct IsalKernel {
  void (*init_tables)(int k, int rows, unsigned char* matrix, unsigned char* tables);
  void (*encode)(int size, int k, int rows, unsigned char* tables, unsigned char** sources,
                 unsigned char** destinations);

  // The matrix (rows of k coefficients) as `encode` wants it.
  std::vector<uint8_t> Tables(std::span<const uint8_t> matrix, size_t k) const;
  // As JerasureMultiply, `tables` standing for the rows.
  void Multiply(std::span<const uint8_t> tables, std::span<const std::byte* const> sources,
                std::span<std::byte* const> destinations, size_t size) const;
};

struct IsalLibrary {
  const IsalKernel* kernel = nullptr;  // Null: not to be used, and why not.
  std::string reason;
};

// Found, and checked against Jerasure's arithmetic, once. Stays loaded. Any thread.
const IsalLibrary& Isal();

}  // namespace motley
