// SPDX-License-Identifier: Apache-2.0
#include "data/formats/column_major.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "data/files/spill_file.h"

namespace motley {
namespace {

constexpr size_t kBlockBytes = size_t{4} << 20;

class TransposedStream final : public ByteStream {
 public:
  // `columns`: the position in column-major order of each value of a sample in row-major order.
  TransposedStream(std::shared_ptr<SpillFile> file, uint64_t rows, std::vector<uint64_t> columns,
                   uint32_t element_bytes)
      : file_(std::move(file)), rows_(rows), columns_(std::move(columns)), size_(element_bytes) {}

  Result<size_t> Read(std::span<char> to) override {
    if (at_ == block_.size()) MOTLEY_RETURN_IF_ERROR(NextBlock());
    const size_t count = std::min(to.size(), block_.size() - at_);
    std::memcpy(to.data(), block_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  Status NextBlock() {
    const uint64_t row_bytes = columns_.size() * size_;
    const uint64_t count = std::min(
        rows_ - row_, std::max<uint64_t>(1, kBlockBytes / std::max<uint64_t>(row_bytes, 1)));
    at_ = 0;
    block_.resize(count * row_bytes);
    std::string column(count * size_, '\0');
    for (size_t i = 0; count > 0 && i < columns_.size(); ++i) {
      const uint64_t offset = (columns_[i] * rows_ + row_) * size_;
      MOTLEY_RETURN_IF_ERROR(
          file_->ReadAt(offset, std::as_writable_bytes(std::span<char>(column))));
      for (uint64_t row = 0; row < count; ++row) {
        std::memcpy(block_.data() + row * row_bytes + i * size_, column.data() + row * size_,
                    size_);
      }
    }
    row_ += count;
    return Status::Ok();
  }

  std::shared_ptr<SpillFile> file_;
  uint64_t rows_;
  std::vector<uint64_t> columns_;
  uint32_t size_;
  uint64_t row_ = 0;   // First row of the next block.
  std::string block_;  // Whole rows.
  size_t at_ = 0;      // Read position in block_.
};

}  // namespace

Result<std::unique_ptr<StreamReader>> RowMajor(StreamReader& columns, const std::string& name,
                                               const std::vector<uint64_t>& shape,
                                               uint32_t element_bytes) {
  const Status truncated = Status::DataError(name + ": is truncated, or its shape is too large");
  uint64_t left = element_bytes;
  for (const uint64_t extent : shape) {
    if (extent != 0 && left > std::numeric_limits<int64_t>::max() / extent) return truncated;
    left *= extent;
  }
  const uint64_t per_sample = shape[0] == 0 ? 0 : left / shape[0] / element_bytes;
  MOTLEY_ASSIGN_OR_RETURN(std::shared_ptr<SpillFile> file, SpillFile::Create());
  std::string bytes;
  while (left > 0) {
    bytes.resize(static_cast<size_t>(std::min<uint64_t>(left, kBlockBytes)));
    MOTLEY_ASSIGN_OR_RETURN(const size_t got, columns.Read(bytes));
    if (got < bytes.size()) return truncated;
    MOTLEY_RETURN_IF_ERROR(file->Append(AsBytes(bytes)).status());
    left -= got;
  }
  // The position of each value of a sample; its indices count from the other end.
  std::vector<uint64_t> places(per_sample);
  for (uint64_t i = 0; i < per_sample; ++i) {
    uint64_t rest = i, place = 0, stride = per_sample;
    for (size_t d = shape.size() - 1; d > 0; --d) {
      stride /= shape[d];
      place += rest % shape[d] * stride;
      rest /= shape[d];
    }
    places[i] = place;
  }
  return std::make_unique<StreamReader>(std::make_unique<TransposedStream>(
      std::move(file), shape[0], std::move(places), element_bytes));
}

}  // namespace motley
