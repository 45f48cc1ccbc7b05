// SPDX-License-Identifier: Apache-2.0
#include "data/data_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/counted.h"
#include "base/random.h"

namespace motley {
namespace {

constexpr size_t kBlockRows = 1024;

}  // namespace

DataView::DataView(std::shared_ptr<const DataSource> base,
                   std::optional<std::vector<uint32_t>> rows, float factor, Storage storage)
    : base_(std::move(base)), rows_(std::move(rows)), factor_(factor), storage_(storage) {}

DataShape DataView::shape() const {
  DataShape shape = base_->shape();
  if (rows_) shape.rows = rows_->size();
  shape.storage = storage_;
  return shape;
}

Result<Dataset> DataView::Range(size_t begin, size_t end) const {
  if (!rows_) return Finished(base_->Range(begin, end));
  MOTLEY_ASSERT(begin <= end && end <= rows_->size());
  return Finished(base_->Gather(std::span<const uint32_t>(*rows_).subspan(begin, end - begin)));
}

Result<Dataset> DataView::Gather(std::span<const uint32_t> rows) const {
  if (!rows_) return Finished(base_->Gather(rows));
  std::vector<uint32_t> inner;
  inner.reserve(rows.size());
  for (const uint32_t row : rows) inner.push_back(rows_->at(row));
  return Finished(base_->Gather(inner));
}

Result<Dataset> DataView::Finished(Result<Dataset> data) const {
  if (data.ok() && factor_ != 1) ScaleFeatures(*data, factor_);
  if (data.ok() && storage_ != data->storage) {
    MOTLEY_RETURN_IF_ERROR(Narrow(*data, storage_));
  }
  return data;
}

Result<Magnitudes> MeasureMagnitudes(const DataSource& source,
                                     std::optional<std::span<const uint32_t>> rows,
                                     const Unwanted& unwanted) {
  std::vector<uint32_t> ascending;
  if (rows) {
    ascending.assign(rows->begin(), rows->end());
    std::sort(ascending.begin(), ascending.end());
  }
  const size_t count = rows ? rows->size() : source.shape().rows;
  std::vector<float> each(source.shape().features);
  for (size_t begin = 0; begin < count; begin += kBlockRows) {
    if (unwanted && unwanted()) return Status::Cancelled("the reading of samples was stopped");
    const size_t end = std::min(count, begin + kBlockRows);
    MOTLEY_ASSIGN_OR_RETURN(
        const Dataset block,
        rows ? source.Gather(std::span<const uint32_t>(ascending).subspan(begin, end - begin))
             : source.Range(begin, end));
    RaiseMagnitudes(block, each);
  }
  Magnitudes found;
  const auto top = std::max_element(each.begin(), each.end());
  if (top == each.end()) return found;
  found.largest = *top;
  found.feature = static_cast<uint32_t>(top - each.begin());
  for (uint32_t feature = 0; feature < each.size(); ++feature) {
    if (!(each[feature] > 0)) continue;
    ++found.used;
    if (each[feature] >= found.largest / kDrowns) continue;
    if (found.drowned++ == 0) found.first_drowned = feature;
  }
  return found;
}

Result<SplitRows> CutRows(uint64_t rows, double fraction, uint64_t seed) {
  if (!(fraction > 0 && fraction < 1)) {
    return Status::InvalidArgument(
        fmt::format("the training share must lie between 0 and 1, not {}", fraction));
  }
  if (rows < 2 || rows > std::numeric_limits<uint32_t>::max()) {
    return Status::InvalidArgument(
        fmt::format("{} cannot be split into training and test data", Counted(rows, "sample")));
  }
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0u);
  Random(seed, Stream::kSplit).Shuffle(std::span<uint32_t>(order));
  const auto wanted = static_cast<size_t>(fraction * static_cast<double>(rows) + 0.5);
  const auto cut = static_cast<ptrdiff_t>(std::clamp<size_t>(wanted, 1, rows - 1));
  return SplitRows{.train = {order.begin(), order.begin() + cut},
                   .test = {order.begin() + cut, order.end()}};
}

}  // namespace motley
