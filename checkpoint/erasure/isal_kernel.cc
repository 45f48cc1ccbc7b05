// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/erasure/isal_kernel.h"

#include <dlfcn.h>

#include <algorithm>

#include "checkpoint/erasure/jerasure_reference.h"

namespace motley {
namespace {

constexpr const char* kLibrary = "libisal.so.2";
constexpr size_t kTableBytes = 32;  // Per coefficient; some versions use fewer.

IsalLibrary Load() {
  static IsalKernel kernel;
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {.reason = std::string("cannot load it: ") + dlerror()};
  kernel.init_tables =
      reinterpret_cast<decltype(kernel.init_tables)>(dlsym(library, "ec_init_tables"));
  kernel.encode = reinterpret_cast<decltype(kernel.encode)>(dlsym(library, "ec_encode_data"));
  if (kernel.init_tables != nullptr && kernel.encode != nullptr) return {.kernel = &kernel};
  dlclose(library);
  return {.reason = std::string(kLibrary) + " lacks ec_init_tables or ec_encode_data"};
}

// Compares all products of a coefficient and a byte with Jerasure: in another field, decoding would
// give garbage.
bool AgreesWithJerasure(const IsalKernel& kernel) {
  constexpr size_t kValues = 256;
  alignas(64) std::byte bytes[kValues];
  for (size_t i = 0; i < kValues; ++i) bytes[i] = static_cast<std::byte>(i);
  const std::byte* const source = bytes;
  for (size_t coefficient = 1; coefficient < kValues; ++coefficient) {
    const uint8_t row[1] = {static_cast<uint8_t>(coefficient)};
    alignas(64) std::byte wanted[kValues];
    alignas(64) std::byte got[kValues];
    std::byte* const wanted_blocks[1] = {wanted};
    std::byte* const got_blocks[1] = {got};
    JerasureMultiply(row, {&source, 1}, wanted_blocks, kValues);
    kernel.Multiply(kernel.Tables(row, 1), {&source, 1}, got_blocks, kValues);
    if (!std::equal(wanted, wanted + kValues, got)) return false;
  }
  return true;
}

IsalLibrary LoadChecked() {
  IsalLibrary library = Load();
  if (library.kernel == nullptr) return library;
  const auto tables = JerasureCodingMatrix(1, 1, ErasureTechnique::kVandermonde);
  if (!tables.ok()) return {.reason = tables.status().message()};
  if (!AgreesWithJerasure(*library.kernel)) {
    return {.reason = std::string(kLibrary) + " gives other products than Jerasure"};
  }
  return library;
}

}  // namespace

std::vector<uint8_t> IsalKernel::Tables(std::span<const uint8_t> matrix, size_t k) const {
  std::vector<uint8_t> tables(kTableBytes * matrix.size());
  // The library takes a pointer to non-const.
  std::vector<uint8_t> coefficients(matrix.begin(), matrix.end());
  init_tables(static_cast<int>(k), static_cast<int>(matrix.size() / k), coefficients.data(),
              tables.data());
  return tables;
}

void IsalKernel::Multiply(std::span<const uint8_t> tables,
                          std::span<const std::byte* const> sources,
                          std::span<std::byte* const> destinations, size_t size) const {
  constexpr size_t kPiece = size_t{1} << 30;  // The library takes sizes as int.
  std::vector<unsigned char*> from(sources.size());
  std::vector<unsigned char*> to(destinations.size());
  for (size_t begin = 0; begin < size; begin += kPiece) {
    for (size_t j = 0; j < from.size(); ++j) {
      from[j] =
          const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(sources[j] + begin));
    }
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = reinterpret_cast<unsigned char*>(destinations[i] + begin);
    }
    encode(static_cast<int>(std::min(kPiece, size - begin)), static_cast<int>(from.size()),
           static_cast<int>(to.size()), const_cast<unsigned char*>(tables.data()), from.data(),
           to.data());
  }
}

const IsalLibrary& Isal() {
  static const IsalLibrary library = LoadChecked();
  return library;
}

}  // namespace motley
