// SPDX-License-Identifier: Apache-2.0
// The samples of a job, which need not be in memory. Immutable; any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/status.h"
#include "data/dataset.h"

namespace motley {

struct DataShape {
  uint64_t rows = 0;
  uint32_t features = 0;
  uint32_t classes = 0;  // 0: labels are real numbers.
  bool sparse = false;
  Storage storage = Storage::kFloat32;  // Of dense samples.
  uint64_t entries = 0;  // Of sparse samples: values that they have at most; 0: not known.
};

// Asked between blocks of a long piece of work, on its thread: whether nobody wants it any more.
// Empty: somebody does.
using Unwanted = std::function<bool()>;

class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual DataShape shape() const = 0;
  // Copies of the samples [begin, end), or of `rows` in that order. Both must lie within the shape.
  // kResource, kInternal: samples that are not in memory could not be read back; the error names
  // where they are.
  virtual Result<Dataset> Range(size_t begin, size_t end) const = 0;
  virtual Result<Dataset> Gather(std::span<const uint32_t> rows) const = 0;
  // The same, behind the samples of `to`, which have the same features and kind.
  virtual Status AppendTo(Dataset& to, std::span<const uint32_t> rows) const;
  // Of the arrays that are in memory because of this source.
  virtual uint64_t memory_bytes() const { return 0; }
};

class MemorySource final : public DataSource {
 public:
  explicit MemorySource(const Dataset& borrowed) : data_(&borrowed) {}
  explicit MemorySource(Dataset&& owned);
  MemorySource(const MemorySource&) = delete;
  MemorySource& operator=(const MemorySource&) = delete;

  DataShape shape() const override;
  Result<Dataset> Range(size_t begin, size_t end) const override;
  Result<Dataset> Gather(std::span<const uint32_t> rows) const override;
  Status AppendTo(Dataset& to, std::span<const uint32_t> rows) const override;
  uint64_t memory_bytes() const override { return data_->size_bytes(); }

 private:
  Dataset owned_;
  const Dataset* data_;
};

}  // namespace motley
