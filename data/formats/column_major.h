// SPDX-License-Identifier: Apache-2.0
// Reads arrays in column-major (Fortran) order, which pandas and transposition produce.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/files/byte_stream.h"

namespace motley {

// The same elements in row-major order. `columns` is at the first element of an array of `shape`,
// whose first index varies fastest. It is borrowed until the returned reader ends. The bytes go
// through an unnamed temporary file, so the array may be larger than memory. kDataError names
// `name`: truncated.
Result<std::unique_ptr<StreamReader>> RowMajor(StreamReader& columns, const std::string& name,
                                               const std::vector<uint64_t>& shape,
                                               uint32_t element_bytes);

}  // namespace motley
