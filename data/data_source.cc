// SPDX-License-Identifier: Apache-2.0
#include "data/data_source.h"

#include <numeric>
#include <utility>
#include <vector>

namespace motley {

Status DataSource::AppendTo(Dataset& to, std::span<const uint32_t> rows) const {
  MOTLEY_ASSIGN_OR_RETURN(const Dataset gathered, Gather(rows));
  std::vector<uint32_t> all(rows.size());
  std::iota(all.begin(), all.end(), 0u);
  Append(gathered, all, to);
  return Status::Ok();
}

Result<float> DataSource::LabelOf(size_t row) const {
  MOTLEY_ASSIGN_OR_RETURN(const Dataset one, Range(row, row + 1));
  MOTLEY_ASSERT(one.label.size() == 1);
  return one.label.front();
}

MemorySource::MemorySource(Dataset&& owned) : owned_(std::move(owned)), data_(&owned_) {}

DataShape MemorySource::shape() const {
  return {.rows = data_->rows(),
          .features = data_->features,
          .classes = data_->classes,
          .sparse = data_->sparse,
          .storage = data_->storage,
          .entries = data_->value.size()};
}

Result<Dataset> MemorySource::Range(size_t begin, size_t end) const {
  return SelectRange(*data_, begin, end);
}

Result<Dataset> MemorySource::Gather(std::span<const uint32_t> rows) const {
  return Select(*data_, rows);
}

Status MemorySource::AppendTo(Dataset& to, std::span<const uint32_t> rows) const {
  Append(*data_, rows, to);
  return Status::Ok();
}

}  // namespace motley
