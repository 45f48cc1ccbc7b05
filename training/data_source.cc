// SPDX-License-Identifier: Apache-2.0
#include "training/data_source.h"

#include <utility>

namespace motley {

MemorySource::MemorySource(Dataset&& owned) : owned_(std::move(owned)), data_(&owned_) {}

DataShape MemorySource::shape() const {
  return {.rows = data_->rows(),
          .features = data_->features,
          .classes = data_->classes,
          .sparse = data_->sparse};
}

Result<Dataset> MemorySource::Range(size_t begin, size_t end) const {
  return SelectRange(*data_, begin, end);
}

Result<Dataset> MemorySource::Gather(std::span<const uint32_t> rows) const {
  return Select(*data_, rows);
}

}  // namespace motley
