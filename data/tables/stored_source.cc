// SPDX-License-Identifier: Apache-2.0
#include "data/tables/stored_source.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "data/tables/table_reading.h"

namespace motley {
namespace {

// Appends `count` values to `to`, from entry `begin` of the array at `offset`.
template <typename T>
Status ReadArray(const SpillFile& file, uint64_t offset, uint64_t begin, uint64_t count,
                 std::vector<T>& to) {
  const size_t size = to.size();
  to.resize(size + count);
  return file.ReadAt(offset + begin * sizeof(T),
                     std::as_writable_bytes(std::span<T>(to).subspan(size)));
}

template <typename T>
Result<uint64_t> MoveOut(std::vector<T>& values, SpillFile& file) {
  const auto offset = file.Append(AsBytes(std::span<const T>(values)));
  values = std::vector<T>();
  return offset;
}

}  // namespace

Status StoredSource::Add(RawSamples& block, std::vector<float> labels, MemoryBudget& budget) {
  const uint64_t bytes = block.feature_bytes();
  Dataset data{.features = block.features, .sparse = block.sparse};
  data.dense = std::exchange(block.dense, {});
  data.row_begin = std::exchange(block.row_begin, {0});
  data.column = std::exchange(block.column, {});
  data.value = std::exchange(block.value, {});
  data.label = std::move(labels);
  block.first += block.label.size();
  block.label.clear();
  block.label_text.clear();
  block.line.clear();
  return Keep(std::move(data), bytes, budget);
}

Status StoredSource::Keep(Dataset data, uint64_t bytes, MemoryBudget& budget) {
  Block added;
  added.first = shape_.rows;
  added.data = std::move(data);
  shape_.sparse = added.data.sparse;
  shape_.storage = added.data.storage;
  shape_.entries += added.data.value.size();
  shape_.rows += added.data.label.size();
  if (bytes <= budget.left) {
    budget.left -= bytes;
    added.data.dense.shrink_to_fit();
    added.data.narrow.shrink_to_fit();
    added.data.column.shrink_to_fit();
    added.data.value.shrink_to_fit();
  } else {
    budget.left = 0;  // All later blocks go to the file, which is then read in long runs.
    if (budget.file == nullptr) {
      MOTLEY_ASSIGN_OR_RETURN(budget.file, SpillFile::Create());
    }
    added.file = budget.file;
    if (shape_.sparse) {
      MOTLEY_ASSIGN_OR_RETURN(added.offset, MoveOut(added.data.column, *added.file));
      MOTLEY_ASSIGN_OR_RETURN(added.values, MoveOut(added.data.value, *added.file));
    } else if (shape_.storage == Storage::kFloat32) {
      MOTLEY_ASSIGN_OR_RETURN(added.offset, MoveOut(added.data.dense, *added.file));
    } else {
      MOTLEY_ASSIGN_OR_RETURN(added.offset, MoveOut(added.data.narrow, *added.file));
    }
  }
  added.data.row_begin.shrink_to_fit();
  blocks_.push_back(std::move(added));
  return Status::Ok();
}

void StoredSource::Finish(uint32_t features, uint32_t classes, const std::vector<float>& index) {
  shape_.features = features;
  shape_.classes = classes;
  for (Block& block : blocks_) {
    block.data.features = features;
    block.data.classes = classes;
    if (index.empty()) continue;
    for (float& label : block.data.label) {
      if (const auto code = TextOf(label)) label = index[*code];
    }
  }
}

const StoredSource::Block& StoredSource::Find(uint64_t row) const {
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), row,
                                      [](uint64_t r, const Block& b) { return r < b.first; });
  return *(after - 1);
}

Dataset StoredSource::Empty(size_t rows) const {
  Dataset to;
  to.features = shape_.features;
  to.classes = shape_.classes;
  to.sparse = shape_.sparse;
  to.storage = shape_.storage;
  to.label.reserve(rows);
  if (shape_.sparse) return to;
  if (shape_.storage == Storage::kFloat32) {
    to.dense.reserve(rows * shape_.features);
  } else {
    to.narrow.reserve(rows * shape_.features);
  }
  return to;
}

Status StoredSource::AppendFromFile(const Block& block, size_t begin, size_t end, Dataset& to) {
  const Dataset& data = block.data;
  to.label.insert(to.label.end(), data.label.begin() + static_cast<ptrdiff_t>(begin),
                  data.label.begin() + static_cast<ptrdiff_t>(end));
  if (!data.sparse) {
    const auto read = [&](auto& features) {
      return ReadArray(*block.file, block.offset, begin * data.features,
                       (end - begin) * data.features, features);
    };
    return data.storage == Storage::kFloat32 ? read(to.dense) : read(to.narrow);
  }
  const uint64_t first = data.row_begin[begin];
  const uint64_t count = data.row_begin[end] - first;
  const uint64_t base = to.column.size();
  for (size_t row = begin + 1; row <= end; ++row) {
    to.row_begin.push_back(base + data.row_begin[row] - first);
  }
  MOTLEY_RETURN_IF_ERROR(ReadArray(*block.file, block.offset, first, count, to.column));
  return ReadArray(*block.file, block.values, first, count, to.value);
}

Status StoredSource::AppendRows(const Block& block, size_t begin, size_t end, Dataset& to) const {
  if (block.file != nullptr) return AppendFromFile(block, begin, end, to);
  if (end - begin == 1) {
    const auto row = static_cast<uint32_t>(begin);
    Append(block.data, std::span<const uint32_t>(&row, 1), to);
    return Status::Ok();
  }
  std::vector<uint32_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(begin));
  Append(block.data, rows, to);
  return Status::Ok();
}

Result<Dataset> StoredSource::Range(size_t begin, size_t end) const {
  MOTLEY_ASSERT(begin <= end && end <= shape_.rows);
  Dataset to = Empty(end - begin);
  while (begin < end) {
    const Block& block = Find(begin);
    const size_t stop = std::min<size_t>(end, block.first + block.data.label.size());
    MOTLEY_RETURN_IF_ERROR(AppendRows(block, begin - block.first, stop - block.first, to));
    begin = stop;
  }
  return to;
}

Result<Dataset> StoredSource::Gather(std::span<const uint32_t> rows) const {
  Dataset to = Empty(rows.size());
  MOTLEY_RETURN_IF_ERROR(AppendTo(to, rows));
  return to;
}

Status StoredSource::AppendTo(Dataset& to, std::span<const uint32_t> rows) const {
  for (size_t i = 0; i < rows.size();) {
    MOTLEY_ASSERT(rows[i] < shape_.rows);
    const Block& block = Find(rows[i]);
    const size_t begin = rows[i] - block.first;
    size_t count = 1;  // Adjacent rows are read together.
    while (i + count < rows.size() && rows[i + count] == rows[i] + count &&
           begin + count < block.data.label.size()) {
      ++count;
    }
    MOTLEY_RETURN_IF_ERROR(AppendRows(block, begin, begin + count, to));
    i += count;
  }
  return Status::Ok();
}

Result<float> StoredSource::LabelOf(size_t row) const {
  const Block& block = Find(row);
  return block.data.label[row - block.first];
}

uint64_t StoredSource::memory_bytes() const {
  uint64_t bytes = 0;
  for (const Block& block : blocks_) bytes += sizeof(Block) + block.data.size_bytes();
  return bytes;
}

Result<std::shared_ptr<const DataSource>> Spill(Dataset data) {
  MemoryBudget none;
  const uint32_t features = data.features;
  const uint32_t classes = data.classes;
  const uint64_t bytes = data.size_bytes();
  auto source = std::make_shared<StoredSource>();
  MOTLEY_RETURN_IF_ERROR(source->Keep(std::move(data), bytes, none));
  source->Finish(features, classes, {});
  return std::shared_ptr<const DataSource>(std::move(source));
}

}  // namespace motley
