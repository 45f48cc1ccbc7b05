// SPDX-License-Identifier: Apache-2.0
// Raw samples as a file format's reader yields them, block by block, before labels become classes;
// and the interface of a format.
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

// Some samples of a file. The arrays are as in Dataset, the labels as in the file.
struct RawSamples {
  std::string path;
  uint32_t features = 0;  // Sparse samples: the largest index so far.
  bool sparse = false;
  std::vector<float> dense;
  std::vector<uint64_t> row_begin{0};
  std::vector<uint32_t> column;
  std::vector<float> value;
  std::vector<double> label;  // NaN where the label is missing or a text.
  std::vector<std::string>
      label_text;  // One per sample, empty where the label is a number; or no entries at all.
  std::vector<std::string> names;  // Names of the features, if the file has them.
  std::vector<uint32_t> line;      // Line of each sample, from 1; empty for binary formats.
  uint64_t first = 0;              // Number within the file of the first sample here.
  std::vector<std::string> notes;  // Assumptions of the reader; any block may have some.

  size_t rows() const { return label.size(); }
  size_t feature_bytes() const {
    return (dense.size() + value.size()) * sizeof(float) + column.size() * sizeof(uint32_t);
  }
};

// Where a sample came from: "FILE:LINE", or "FILE: sample NUMBER" (from 0) in binary files.
std::string Place(const RawSamples& samples, size_t row);

// Receives the samples of a file as they are read.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  // Moves the samples out of `block`, which can then be filled again.
  virtual Status Take(RawSamples& block) = 0;
};

// Approximate bytes of features in a block.
inline constexpr size_t kSampleBlockBytes = size_t{1} << 20;

// Passes `block` on if it is full.
inline Status TakeIfFull(RawSamples& block, SampleSink& sink) {
  return block.feature_bytes() < kSampleBlockBytes ? Status::Ok() : sink.Take(block);
}

struct InputFile {
  std::string path;
  std::string labels;  // The spec's labels=FILE; empty: none.
  bool test = false;   // Read the test part of a file that has two.
};

// One file format. The first format in the list of readers.cc whose `sniff` returns true reads the
// file.
struct FileFormat {
  const char* name;
  // `head` is the first bytes of the unpacked file; it is not empty.
  bool (*sniff)(std::string_view head);
  // `stream` is at the start of the unpacked file. All samples go to `sink`.
  Status (*read)(const InputFile& file, StreamReader& stream, const ReadOptions& options,
                 SampleSink& sink);
  // Tells whether the file has its own test part; null: the format has none.
  Result<bool> (*has_test)(const std::string& path) = nullptr;
  bool has_columns = false;      // A column is the label, and the options of tables apply.
  bool separate_labels = false;  // A file of its own may have the labels.
};

// A file with more features or rows than these is taken for damaged.
inline constexpr uint32_t kMaxFeatures = 100'000'000;
inline constexpr uint64_t kMaxRows = std::numeric_limits<uint32_t>::max();

}  // namespace motley
