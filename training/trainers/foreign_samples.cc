// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/foreign_samples.h"

#include <fmt/format.h>

#include <cmath>
#include <new>
#include <utility>

namespace motley {
namespace {

// Callers get float32 samples, whatever their storage.
Status AppendFloats(const DataSource& block, std::span<const uint32_t> rows, Dataset& to) {
  if (block.shape().storage == Storage::kFloat32) return block.AppendTo(to, rows);
  MOTLEY_ASSIGN_OR_RETURN(Dataset samples, block.Gather(rows));
  Widen(samples);
  to.label.insert(to.label.end(), samples.label.begin(), samples.label.end());
  to.dense.insert(to.dense.end(), samples.dense.begin(), samples.dense.end());
  return Status::Ok();
}

}  // namespace

void ForeignSamples::Begin(StepId step) {
  numbers_.clear();
  batch_ = Dataset();
  with_batch_ = false;
  in_batch_ = schedule_.At(step);
}

Status ForeignSamples::Add(const PartitionSlice& slice) {
  const uint64_t first = schedule_.first_sample(slice.partition);
  rows_.clear();
  in_batch_->AppendRows(slice.range.begin, slice.range.count, first, rows_);
  for (const uint32_t row : rows_) numbers_.push_back(first + row);
  const DataShape shape = slice.block->shape();
  if (shape.features == 0) return Status::Ok();
  with_batch_ = true;
  batch_.features = shape.features;
  batch_.classes = shape.classes;
  batch_.sparse = shape.sparse;
  return AppendFloats(*slice.block, rows_, batch_);
}

void ProgressRelay::Report(uint64_t samples) {
  samples_ = samples;
  if (posted_.exchange(true)) return;
  try {
    loop_.Post([self = shared_from_this()] {
      self->posted_ = false;
      self->report_(self->samples_);
    });
  } catch (const std::bad_alloc&) {
    posted_ = false;  // The next call posts again.
  }
}

Status ForeignOutcome(const Status& status, bool cancelled, const std::string& where) {
  if (status.ok()) return status;
  if (cancelled) return Status::Cancelled("the gradient was no longer wanted");
  // kCancelled would be taken for a cancelled row, which would be asked for again and again.
  if (status.code() == StatusCode::kCancelled) {
    return Status::Callback(
        where + ": the trainer returned MOTLEY_CANCELLED, but the work was not cancelled");
  }
  return status.WithContext(where);
}

Status CheckForeignWeight(double weight, const std::string& where) {
  if (std::isfinite(weight) && weight >= 0) return Status::Ok();
  return Status::Callback(
      fmt::format("{}: the trainer gave them weight {}; a weight must be finite and not negative",
                  where, weight));
}

}  // namespace motley
