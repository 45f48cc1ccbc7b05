// SPDX-License-Identifier: Apache-2.0
// What a file format's parser yields, before labels become classes; and what a format is.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "training/readers.h"

namespace motley {

// Arrays as in Dataset; labels as they stand in the file.
struct RawSamples {
  std::string path;
  uint32_t features = 0;
  bool sparse = false;
  std::vector<float> dense;
  std::vector<uint64_t> row_begin{0};
  std::vector<uint32_t> column;
  std::vector<float> value;
  std::vector<double> label;
  std::vector<std::string> names;  // Of the features, where the file has them.
  std::vector<uint32_t> line;      // Of each sample, from 1; empty for binary formats.

  size_t rows() const { return label.size(); }
};

// Where a sample came from: "FILE:LINE", or "FILE: sample NUMBER" (from 0) in binary files.
std::string Place(const RawSamples& samples, size_t row);

// One file format: readers.cc lists them all, the first whose `sniff` holds reads the file.
struct FileFormat {
  const char* name;
  bool (*sniff)(std::string_view content);
  // `content` is unpacked and not empty; `path` is for messages and files that belong along.
  Result<RawSamples> (*parse)(std::string_view content, const std::string& path,
                              const ReadOptions& options);
};

// More features or rows than this are taken for damage.
inline constexpr uint32_t kMaxFeatures = 100'000'000;
inline constexpr uint64_t kMaxRows = std::numeric_limits<uint32_t>::max();

}  // namespace motley
