// SPDX-License-Identifier: Apache-2.0
// What a file format's reader yields, block by block, before labels become classes; and what a
// format is.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/files/byte_stream.h"
#include "data/readers.h"

namespace motley {

// Some samples of a file. Arrays as in Dataset; labels as they stand in the file.
struct RawSamples {
  std::string path;
  uint32_t features = 0;  // Of sparse samples: the largest index so far.
  bool sparse = false;
  std::vector<float> dense;
  std::vector<uint64_t> row_begin{0};
  std::vector<uint32_t> column;
  std::vector<float> value;
  std::vector<double> label;  // NaN where there is none, or text:
  std::vector<std::string>
      label_text;                  // Of each sample, empty where its label is a number; or none.
  std::vector<std::string> names;  // Of the features, where the file has them.
  std::vector<uint32_t> line;      // Of each sample, from 1; empty for binary formats.
  uint64_t first = 0;              // Number of the first sample here in its file.
  std::vector<std::string> notes;  // What the reader took for granted; in any block.

  size_t rows() const { return label.size(); }
  size_t feature_bytes() const {
    return (dense.size() + value.size()) * sizeof(float) + column.size() * sizeof(uint32_t);
  }
};

// Where a sample came from: "FILE:LINE", or "FILE: sample NUMBER" (from 0) in binary files.
std::string Place(const RawSamples& samples, size_t row);

// Takes the samples of a file as they are read.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  // Takes the samples out of `block`, which is then ready for the next ones.
  virtual Status Take(RawSamples& block) = 0;
};

// Blocks have about this many bytes of features.
inline constexpr size_t kSampleBlockBytes = size_t{1} << 20;

// Hands `block` on when it is full.
inline Status TakeIfFull(RawSamples& block, SampleSink& sink) {
  return block.feature_bytes() < kSampleBlockBytes ? Status::Ok() : sink.Take(block);
}

struct InputFile {
  std::string path;
  std::string labels;  // labels=FILE; empty: none given.
  bool test = false;   // The test part, in files that have two.
};

// One file format: readers.cc lists them all, the first whose `sniff` holds reads the file.
struct FileFormat {
  const char* name;
  // `head`: the first bytes of the unpacked file, not empty.
  bool (*sniff)(std::string_view head);
  // `stream` is at the start of the unpacked file. Everything that is read goes to `sink`.
  Status (*read)(const InputFile& file, StreamReader& stream, const ReadOptions& options,
                 SampleSink& sink);
  // Whether the file has a test part of its own; null: never.
  Result<bool> (*has_test)(const std::string& path) = nullptr;
};

// More features or rows than this are taken for damage.
inline constexpr uint32_t kMaxFeatures = 100'000'000;
inline constexpr uint64_t kMaxRows = std::numeric_limits<uint32_t>::max();

}  // namespace motley
