// SPDX-License-Identifier: Apache-2.0
// Samples as they were read, in blocks: in memory up to a limit, the rest in a file without a name.
// Labels and where rows begin stay in memory (4 and, sparse, 8 bytes per sample). Filled by one
// thread; then any thread may read.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/data_source.h"
#include "data/files/spill_file.h"
#include "data/raw_samples.h"

namespace motley {

// Bytes of features that may be kept in memory; shared by sources that count on the same memory.
struct MemoryBudget {
  uint64_t left = 0;
  std::shared_ptr<SpillFile> file;  // Made when it is first needed.
};

// `data` with its features in a file of its own. kResource: the disk.
Result<std::shared_ptr<const DataSource>> Spill(Dataset data);

class StoredSource final : public DataSource {
 public:
  // Takes the features out of `block`, with `labels` in place of its own. kResource: the disk.
  Status Add(RawSamples& block, std::vector<float> labels, MemoryBudget& budget);
  // Before the first read: features and classes, and each label TextCell(code) turned into
  // `index[code]`.
  void Finish(uint32_t features, uint32_t classes, const std::vector<float>& index);

  DataShape shape() const override { return shape_; }
  Result<Dataset> Range(size_t begin, size_t end) const override;
  Result<Dataset> Gather(std::span<const uint32_t> rows) const override;
  Status AppendTo(Dataset& to, std::span<const uint32_t> rows) const override;
  uint64_t memory_bytes() const override;

 private:
  struct Block {
    uint64_t first = 0;
    Dataset data;                     // Without its features when they are in the file.
    std::shared_ptr<SpillFile> file;  // Null: in memory.
    uint64_t offset = 0;              // Dense rows; or the columns, with the values at:
    uint64_t values = 0;
  };
  friend Result<std::shared_ptr<const DataSource>> Spill(Dataset data);
  // Keeps the samples of `data`, which need `bytes` for their features.
  Status Keep(Dataset data, uint64_t bytes, MemoryBudget& budget);
  const Block& Find(uint64_t row) const;
  // With room for so many samples.
  Dataset Empty(size_t rows) const;
  Status AppendRows(const Block& block, size_t begin, size_t end, Dataset& to) const;
  static Status AppendFromFile(const Block& block, size_t begin, size_t end, Dataset& to);

  DataShape shape_;
  std::vector<Block> blocks_;
};

}  // namespace motley
