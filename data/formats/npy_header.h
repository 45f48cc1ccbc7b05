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
  bool column_major = false;  // The first index varies fastest, and there are several.
};

bool IsNpy(std::string_view head);

// Reads the header; `stream` is then at the first element. kDataError: no NPY file, a type that is
// no number; says what to do about it, without the file's name.
Result<NpyHeader> ReadNpyHeader(StreamReader& stream);

}  // namespace motley
