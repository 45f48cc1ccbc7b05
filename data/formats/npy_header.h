// SPDX-License-Identifier: Apache-2.0
// The header of an array in NumPy's NPY format, versions 1.0 to 3.0.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/files/byte_stream.h"
#include "data/formats/element_type.h"

namespace motley {

struct NpyHeader {
  ElementType type;
  std::vector<uint64_t> shape;
  bool column_major = false;  // The first index varies fastest; for two or more dimensions.
};

bool IsNpy(std::string_view head);

// Reads the header; `stream` is then at the first element. kDataError: not an NPY file, or the
// element type is not a number. The message says what to do, without the file's name.
Result<NpyHeader> ReadNpyHeader(StreamReader& stream);

}  // namespace motley
