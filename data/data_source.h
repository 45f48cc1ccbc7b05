// SPDX-License-Identifier: Apache-2.0
// The samples of a job, which may be larger than memory. A source is immutable; any thread may read
// it.
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
  Storage storage = Storage::kFloat32;  // Storage of dense samples.
  uint64_t entries = 0;  // Upper bound of the values of all sparse samples; 0: not known.
};

// Asked between blocks of a long operation, on its thread: returns true once the result is no
// longer needed. An empty function never stops the operation.
using Unwanted = std::function<bool()>;

class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual DataShape shape() const = 0;
  // Copies of the samples [begin, end), or of `rows` in that order. Both must lie within the shape.
  // kResource, kInternal: stored samples could not be read back; the error names their file.
  virtual Result<Dataset> Range(size_t begin, size_t end) const = 0;
  virtual Result<Dataset> Gather(std::span<const uint32_t> rows) const = 0;
  // Appends the samples `rows` to `to`, which has the same features and kind.
  virtual Status AppendTo(Dataset& to, std::span<const uint32_t> rows) const;
  // The label of sample `row`. Sources that can do without its features do not read them.
  virtual Result<float> LabelOf(size_t row) const;
  // Bytes of the arrays that this source keeps in memory.
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
  Result<float> LabelOf(size_t row) const override { return data_->label[row]; }
  uint64_t memory_bytes() const override { return data_->size_bytes(); }

 private:
  Dataset owned_;
  const Dataset* data_;
};

}  // namespace motley
