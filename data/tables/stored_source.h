// SPDX-License-Identifier: Apache-2.0
// Samples in blocks as they were read: in memory up to a limit, the rest in an unnamed file. Labels
// stay in memory (4 bytes per sample), and so do the row offsets of sparse samples (8 bytes). One
// thread fills a source; afterwards any thread may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/data_source.h"
#include "data/files/spill_file.h"
#include "data/raw_samples.h"

namespace motley {

// Bytes of features that may be kept in memory. Sources may share one budget.
struct MemoryBudget {
  uint64_t left = 0;
  std::shared_ptr<SpillFile> file;  // Created when it is first needed.
};

// A source for `data` that keeps its features in a file. kResource: the disk failed.
Result<std::shared_ptr<const DataSource>> Spill(Dataset data);

class StoredSource final : public DataSource {
 public:
  // Moves the features out of `block` and stores them with `labels`. kResource: the disk failed.
  Status Add(RawSamples& block, std::vector<float> labels, MemoryBudget& budget);
  // Sets features and classes, and replaces each label TextCell(code) by `index[code]`. Call this
  // before the first read.
  void Finish(uint32_t features, uint32_t classes, const std::vector<float>& index);

  DataShape shape() const override { return shape_; }
  Result<Dataset> Range(size_t begin, size_t end) const override;
  Result<Dataset> Gather(std::span<const uint32_t> rows) const override;
  Status AppendTo(Dataset& to, std::span<const uint32_t> rows) const override;
  Result<float> LabelOf(size_t row) const override;
  uint64_t memory_bytes() const override;

 private:
  struct Block {
    uint64_t first = 0;
    Dataset data;                     // Without features if they are in the file.
    std::shared_ptr<SpillFile> file;  // Null: in memory.
    uint64_t offset = 0;              // Offset in the file of dense rows or sparse columns.
    uint64_t values = 0;
  };
  friend Result<std::shared_ptr<const DataSource>> Spill(Dataset data);
  // Stores `data`, whose features need `bytes` of memory.
  Status Keep(Dataset data, uint64_t bytes, MemoryBudget& budget);
  const Block& Find(uint64_t row) const;
  // An empty data set with capacity for `rows` samples.
  Dataset Empty(size_t rows) const;
  Status AppendRows(const Block& block, size_t begin, size_t end, Dataset& to) const;
  static Status AppendFromFile(const Block& block, size_t begin, size_t end, Dataset& to);

  DataShape shape_;
  std::vector<Block> blocks_;
};

}  // namespace motley
