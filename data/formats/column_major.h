// SPDX-License-Identifier: Apache-2.0
// Arrays in Fortran's order, which pandas and transposition leave behind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/files/byte_stream.h"

namespace motley {

// The same elements in row-major order. `columns` is at the first element of an array of `shape`,
// whose first index varies fastest; it is borrowed until the end. The bytes go through a file
// without a name in the folder for temporary files, so that memory does not limit the array.
// kDataError, as `name`: truncated.
Result<std::unique_ptr<StreamReader>> RowMajor(StreamReader& columns, const std::string& name,
                                               const std::vector<uint64_t>& shape,
                                               uint32_t element_bytes);

}  // namespace motley
