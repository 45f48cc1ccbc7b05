// SPDX-License-Identifier: Apache-2.0
#include "data/sample_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "data/files/text_scan.h"

namespace motley {

SampleCollector::SampleCollector(std::string path, LabelCoder& labels, MemoryBudget& budget,
                                 std::optional<uint32_t> model_features)
    : path_(std::move(path)), labels_(labels), budget_(budget), model_features_(model_features) {}

Status SampleCollector::FitModel(const RawSamples& block) const {
  if (!block.sparse) {
    if (block.features == *model_features_) return Status::Ok();
    return Status::DataError(fmt::format("{}: has {} but the model has {}", path_,
                                         Counted(block.features, "feature"), *model_features_));
  }
  for (size_t row = 0; row < block.rows(); ++row) {
    const uint64_t end = block.row_begin[row + 1];
    // Columns ascend, so the last entry has the largest index.
    if (end > block.row_begin[row] && block.column[end - 1] >= *model_features_) {
      return Status::DataError(fmt::format("{}: index {} but the model has {}", Place(block, row),
                                           block.column[end - 1] + 1,
                                           Counted(*model_features_, "feature")));
    }
  }
  return Status::Ok();
}

Status SampleCollector::Take(RawSamples& block) {
  features_ = block.features;
  sparse_ = block.sparse;
  names_ = block.names;
  notes_.insert(notes_.end(), block.notes.begin(), block.notes.end());
  block.notes.clear();
  if (block.rows() == 0) return Status::Ok();
  if (block.rows() > kMaxRows - source_->shape().rows) {
    return Status::DataError(
        fmt::format("{}: more than {} samples, which is the limit", path_, kMaxRows));
  }
  if (model_features_) MOTLEY_RETURN_IF_ERROR(FitModel(block));
  MOTLEY_ASSIGN_OR_RETURN(std::vector<float> codes, labels_.Code(block));
  return source_->Add(block, std::move(codes), budget_);
}

Status SampleCollector::Check() const {
  if (source_->shape().rows == 0) return Status::DataError(path_ + ": holds no samples");
  if (features_ == 0) return Status::DataError(path_ + ": its samples have no features");
  return Status::Ok();
}

Status SampleCollector::Match(SampleCollector& other) {
  if (sparse_ != other.sparse_) {
    const auto kind = [](bool sparse) { return sparse ? "LIBSVM" : "dense"; };
    return Status::DataError(fmt::format("{} is {} but {} is {}; both must be of one kind", path_,
                                         kind(sparse_), other.path_, kind(other.sparse_)));
  }
  if (sparse_) {  // A LIBSVM file shows only the largest index that occurs.
    features_ = other.features_ = std::max(features_, other.features_);
  } else if (features_ != other.features_) {
    return Status::DataError(fmt::format("{} has {} but {} has {}", path_,
                                         Counted(features_, "feature"), other.path_,
                                         other.features_));
  }
  const bool both_named = !names_.empty() && !other.names_.empty();
  for (size_t i = 0; both_named && i < names_.size(); ++i) {
    if (names_[i] == other.names_[i]) continue;
    return Status::DataError(fmt::format("feature {} is {} in {} but {} in {}", i,
                                         Quoted(names_[i]), path_, Quoted(other.names_[i]),
                                         other.path_));
  }
  return Status::Ok();
}

std::shared_ptr<const DataSource> SampleCollector::Finish(uint32_t classes,
                                                          const std::vector<float>& index) {
  source_->Finish(model_features_.value_or(features_), classes, index);
  return source_;
}

}  // namespace motley
