// SPDX-License-Identifier: Apache-2.0
// A block on the wire is a BlockHeader, the labels, then dense rows. Sparse rows are the number of
// entries of each row (uint32), all columns (uint32) and all values. Little-endian, without
// padding.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "data/dataset.h"

namespace motley {
namespace {

struct BlockHeader {
  uint32_t features = 0;
  uint32_t classes = 0;
  uint16_t sparse = 0;
  uint16_t storage = 0;  // Storage of dense rows.
  uint32_t rows = 0;
  uint64_t entries = 0;  // Entries of sparse rows; 0 if dense.
};
static_assert(sizeof(BlockHeader) == 24);

Status Broken(std::string what) { return Status::DataError("a data block " + std::move(what)); }

template <typename T>
bool GetArray(ByteReader& reader, uint64_t count, std::vector<T>& to) {
  if (count > reader.remaining() / sizeof(T)) return false;
  const BytesView raw = reader.View(count * sizeof(T));
  to.resize(count);
  if (count > 0) std::memcpy(to.data(), raw.data(), raw.size());
  return true;
}

template <typename T>
BytesView Slice(const std::vector<T>& values, uint64_t begin, uint64_t end) {
  return AsBytes(std::span<const T>(values).subspan(begin, end - begin));
}

Status CheckFinite(const std::vector<float>& values) {
  for (const float value : values) {
    if (!std::isfinite(value)) return Broken("has a value that is not a finite number");
  }
  return Status::Ok();
}

Status CheckLabels(const Dataset& data) {
  for (const float label : data.label) {
    const bool fits = data.classes == 0 ? std::isfinite(label)
                                        : label >= 0 && label < static_cast<float>(data.classes) &&
                                              label == std::floor(label);
    if (!fits) return Broken(fmt::format("has the label {}; classes: {}", label, data.classes));
  }
  return Status::Ok();
}

Status GetSparseRows(ByteReader& reader, const BlockHeader& header, Dataset& data) {
  std::vector<uint32_t> lengths;
  if (!GetArray(reader, header.rows, lengths) || !GetArray(reader, header.entries, data.column) ||
      !GetArray(reader, header.entries, data.value)) {
    return Broken("ends too early");
  }
  data.row_begin.reserve(size_t{header.rows} + 1);
  for (const uint32_t length : lengths) {
    const uint64_t begin = data.row_begin.back();
    if (length > header.entries - begin) return Broken("has rows longer than its entries");
    for (uint64_t at = begin; at < begin + length; ++at) {
      if (data.column[at] >= data.features ||
          (at > begin && data.column[at] <= data.column[at - 1]))
        return Broken("has columns out of range or order");
    }
    data.row_begin.push_back(begin + length);
  }
  if (data.row_begin.back() != header.entries) return Broken("has entries that belong to no row");
  return CheckFinite(data.value);
}

Status GetDenseRows(ByteReader& reader, const BlockHeader& header, Dataset& data) {
  // The product of two 32-bit numbers fits into 64 bits.
  const uint64_t values = uint64_t{header.rows} * header.features;
  data.storage = static_cast<Storage>(header.storage);
  if (data.storage == Storage::kFloat32) {
    if (!GetArray(reader, values, data.dense)) return Broken("ends too early");
    return CheckFinite(data.dense);
  }
  if (!GetArray(reader, values, data.narrow)) return Broken("ends too early");
  const auto finite = [&](uint16_t bits) { return IsFinite(bits, data.storage); };
  if (std::all_of(data.narrow.begin(), data.narrow.end(), finite)) return Status::Ok();
  return Broken("has a value that is not a finite number");
}

}  // namespace

uint64_t BlockBytes(uint64_t rows, uint32_t features, bool sparse, uint64_t entries,
                    Storage storage) {
  const uint64_t values = sparse ? rows * sizeof(uint32_t) + entries * 2 * sizeof(float)
                                 : rows * features * BytesOf(storage);
  return sizeof(BlockHeader) + rows * sizeof(float) + values;
}

Bytes EncodeBlock(const Dataset& data, size_t begin, size_t end) {
  MOTLEY_ASSERT(begin <= end && end <= data.rows());
  MOTLEY_ASSERT(end - begin <= std::numeric_limits<uint32_t>::max());
  const uint64_t first = data.sparse ? data.row_begin[begin] : 0;
  const uint64_t last = data.sparse ? data.row_begin[end] : 0;
  ByteWriter writer;
  writer.Put(BlockHeader{.features = data.features,
                         .classes = data.classes,
                         .sparse = static_cast<uint16_t>(data.sparse ? 1 : 0),
                         .storage = static_cast<uint16_t>(data.storage),
                         .rows = static_cast<uint32_t>(end - begin),
                         .entries = last - first});
  writer.Append(Slice(data.label, begin, end));
  if (data.sparse) {
    for (size_t row = begin; row < end; ++row) {
      writer.Put(static_cast<uint32_t>(data.row_begin[row + 1] - data.row_begin[row]));
    }
    writer.Append(Slice(data.column, first, last));
    writer.Append(Slice(data.value, first, last));
  } else if (data.storage == Storage::kFloat32) {
    writer.Append(Slice(data.dense, begin * data.features, end * data.features));
  } else {
    writer.Append(Slice(data.narrow, begin * data.features, end * data.features));
  }
  return writer.Take();
}

Result<Dataset> DecodeBlock(BytesView bytes, uint32_t features, uint32_t classes, bool sparse) {
  ByteReader reader(bytes);
  const auto header = reader.Get<BlockHeader>();
  if (!reader.ok()) return Broken("is shorter than its header");
  if (header.features != features || header.classes != classes || header.sparse > 1 ||
      (header.sparse == 1) != sparse || (!sparse && header.entries != 0)) {
    return Broken(fmt::format("has {} {} features and {} classes where the job has {} {} and {}",
                              header.features, header.sparse != 0 ? "sparse" : "dense",
                              header.classes, features, sparse ? "sparse" : "dense", classes));
  }
  constexpr auto kLast = static_cast<uint16_t>(Storage::kBf16);
  if (header.storage > kLast || (sparse && header.storage != 0)) {
    return Broken(fmt::format("has features of an unknown type, {}", header.storage));
  }
  Dataset data;
  data.features = features;
  data.classes = classes;
  data.sparse = sparse;
  if (!GetArray(reader, header.rows, data.label)) return Broken("ends too early");
  MOTLEY_RETURN_IF_ERROR(CheckLabels(data));
  MOTLEY_RETURN_IF_ERROR(sparse ? GetSparseRows(reader, header, data)
                                : GetDenseRows(reader, header, data));
  if (reader.remaining() != 0) {
    return Broken(fmt::format("has {} extra bytes after its end", reader.remaining()));
  }
  return data;
}

}  // namespace motley
