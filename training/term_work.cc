// SPDX-License-Identifier: Apache-2.0
#include "training/term_work.h"

#include <algorithm>

#include "coding/part_sums.h"
#include "training/trainer.h"

namespace motley {
namespace {

// Bounds the memory of a gathered batch, and how long a cancelled call goes on.
constexpr size_t kGatherRows = 1024;

void Clear(Dataset& data) {
  data.dense.clear();
  data.narrow.clear();
  data.row_begin.resize(1);
  data.column.clear();
  data.value.clear();
  data.label.clear();
}

}  // namespace

void AddWeighted(std::complex<double> coefficient,
                 std::span<const std::complex<double>> other_parts, std::span<const float> values,
                 std::span<float> sum, ParallelFor& parallel) {
  if (other_parts.empty()) {
    return AddParts(Field::kComplexPacked, {&coefficient, 1}, values, sum, parallel);
  }
  std::vector<std::complex<double>> weights = {coefficient};
  weights.insert(weights.end(), other_parts.begin(), other_parts.end());
  AddParts(Field::kComplexPacked, weights, values, sum, parallel);
}

TermWorker::TermWorker(Device& device, const Model& model, BatchSchedule schedule)
    : device_(device),
      session_(device, model),
      count_(model.parameter_count()),
      orders_(std::move(schedule)) {}

Status TermWorker::Add(uint64_t epoch, std::span<const MergedTerm> terms,
                       const VersionedParameters& parameters, const std::atomic<bool>& cancel,
                       std::span<float> sum) {
  if (std::any_of(terms.begin(), terms.end(), IsPlain<MergedTerm>)) {
    MOTLEY_RETURN_IF_ERROR(Begin(parameters, sum));
    MOTLEY_RETURN_IF_ERROR(AddPlain(epoch, terms, cancel));
    MOTLEY_RETURN_IF_ERROR(Finish(sum));
  }
  for (const MergedTerm& term : terms) {
    if (IsPlain(term)) continue;
    scratch_.assign(VectorLength(count_), 0.0f);
    MOTLEY_RETURN_IF_ERROR(Begin(parameters, scratch_));
    MOTLEY_RETURN_IF_ERROR(AddTerm(epoch, term, 1, cancel));
    MOTLEY_RETURN_IF_ERROR(Finish(scratch_));
    AddWeighted(term.coefficient, term.other_parts, scratch_, sum, device_.parallel());
  }
  return Status::Ok();
}

Status TermWorker::Begin(const VersionedParameters& parameters, std::span<float> sum) {
  return session_.Begin(parameters.values, parameters.version, sum.first(count_));
}

Status TermWorker::AddPlain(uint64_t epoch, std::span<const MergedTerm> terms,
                            const std::atomic<bool>& cancel) {
  for (const MergedTerm& term : terms) {
    if (!IsPlain(term)) continue;
    MOTLEY_RETURN_IF_ERROR(AddTerm(epoch, term, term.coefficient.real(), cancel));
  }
  return Status::Ok();
}

Status TermWorker::Finish(std::span<float> sum) {
  double loss = 0;
  MOTLEY_RETURN_IF_ERROR(session_.Finish(loss));
  sum[count_] += static_cast<float>(loss);  // Which a vector has behind its gradient.
  return Status::Ok();
}

Status TermWorker::AddTerm(uint64_t epoch, const MergedTerm& term, double weight,
                           const std::atomic<bool>& cancel) {
  const auto flush = [&]() -> Status {
    if (cancel.load(std::memory_order_relaxed)) {
      return Status::Cancelled("the gradient was no longer wanted");
    }
    const Status status = session_.Add(batch_, weight);
    Clear(batch_);
    return status;
  };
  Clear(batch_);
  for (const PartitionSlice& slice : term.slices) {
    const DataShape shape = slice.block->shape();
    MOTLEY_ASSERT(batch_.rows() == 0 || batch_.sparse == shape.sparse);
    if (batch_.rows() > 0 && batch_.storage != shape.storage) MOTLEY_RETURN_IF_ERROR(flush());
    batch_.features = shape.features;
    batch_.classes = shape.classes;
    batch_.sparse = shape.sparse;
    batch_.storage = shape.storage;
    std::span<const uint32_t> rows = orders_.Rows(epoch, slice);
    while (!rows.empty()) {
      const size_t taken = std::min(rows.size(), kGatherRows - batch_.rows());
      MOTLEY_RETURN_IF_ERROR(slice.block->AppendTo(batch_, rows.first(taken)));
      rows = rows.subspan(taken);
      if (batch_.rows() == kGatherRows) MOTLEY_RETURN_IF_ERROR(flush());
    }
  }
  return batch_.rows() > 0 ? flush() : Status::Ok();
}

std::span<const uint32_t> EpochOrders::Rows(uint64_t epoch, const PartitionSlice& slice) {
  Order& cached = orders_[slice.partition];
  if (cached.rows.empty() || cached.epoch != epoch) {
    cached = {.epoch = epoch, .rows = schedule_.Order(epoch, slice.partition)};
  }
  return std::span<const uint32_t>(cached.rows).subspan(slice.range.begin, slice.range.count);
}

}  // namespace motley
