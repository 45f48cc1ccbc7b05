// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file, validated against the file's size.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

struct TensorInfo {
  std::string dtype;
  std::vector<uint64_t> shape;
  uint64_t begin = 0;  // Byte offset from the start of the data.
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
  uint64_t data_begin = 0;  // Byte offset in the file where the data starts.
};

// The limit of the format's reference implementation, in bytes.
inline constexpr uint64_t kMaxHeaderSize = 100'000'000;

enum class DataCheck {
  kAll,      // `content` is the whole file.
  kNotAtEnd  // The end of the data may be missing.
};
// Parses the header. kDataError unless it is a JSON object of tensors with known sizes that cover
// the data from first to last byte, without overlaps or holes.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view content,
                                                 DataCheck check = DataCheck::kAll);

}  // namespace motley
