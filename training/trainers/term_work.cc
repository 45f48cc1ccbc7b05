// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/term_work.h"

#include <algorithm>

#include "coding/decode/part_sums.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

// Bounds the memory of a gathered batch, and how long a cancelled call continues.
constexpr size_t kGatherRows = 1024;
// Bytes of a batch's dense samples; there are two batches at a time.
constexpr size_t kMostBatchBytes = size_t{256} << 20;

// Bytes of a row in two batches on a device, where samples of 16 bits are kept twice, and in the
// outputs of all layers, with some more as long as the longest. (Images are processed in parts of
// their own.)
size_t RowBytes(const Model& model) {
  size_t values = 0, most = model.spec().features;
  for (const ParameterRange& range : model.ranges()) {
    const size_t outputs = range.shape.empty() ? 1 : range.shape.back();
    values += outputs;
    most = std::max(most, outputs);
  }
  const size_t samples = 2 * model.spec().features * (sizeof(float) + sizeof(uint16_t));
  return samples + (values + 4 * most) * sizeof(float);
}

uint64_t ModelBytes(const Model& model) { return 2 * sizeof(float) * model.parameter_count(); }

void Clear(Dataset& data) {
  data.dense.clear();
  data.narrow.clear();
  data.row_begin.resize(1);
  data.column.clear();
  data.value.clear();
  data.label.clear();
}

}  // namespace

uint64_t LeastBytes(const Model& model) { return ModelBytes(model) + RowBytes(model); }

size_t GatheredRows(const Device& device, const Model& model) {
  const size_t of_host = kMostBatchBytes / (model.spec().features * sizeof(float) + 1);
  const size_t most = std::clamp<size_t>(of_host, 1, kGatherRows);
  const uint64_t memory = device.info().memory_bytes;
  if (device.host_accessible() || memory == 0) return most;
  // Uses half of what is left, because buffers grow and a driver needs some.
  const uint64_t left = memory - std::min(memory, ModelBytes(model));
  return std::clamp<size_t>(left / 2 / RowBytes(model), 1, most);
}

size_t RowsWithRoom(Device& device, const Model& model) {
  size_t rows = GatheredRows(device, model);
  if (device.host_accessible()) return rows;
  const auto fits = [&] {
    const Result<Buffer> of_model = device.Allocate(ModelBytes(model));
    return of_model.ok() && device.Allocate(rows * RowBytes(model)).ok();
  };
  while (rows > 1 && !fits()) rows /= 2;
  return rows;
}

void AddWeighted(std::complex<double> coefficient,
                 std::span<const std::complex<double>> other_parts, std::span<const size_t> ends,
                 std::span<const float> values, std::span<float> sum, ParallelFor& parallel) {
  std::vector<std::complex<double>> weights = {coefficient};
  weights.insert(weights.end(), other_parts.begin(), other_parts.end());
  AddParts(Field::kComplexPacked, weights, values, sum, parallel, ends);
}

TermWorker::TermWorker(Device& device, const Model& model, BatchSchedule schedule)
    : device_(device),
      model_(model),
      session_(device, model),
      count_(model.parameter_count()),
      schedule_(std::move(schedule)) {}

bool IsWeight(const MergedTerm& term, const Model& model) {
  return IsPlain(term) || (term.other_parts.empty() && model.takes_complex_weights());
}

Status TermWorker::Add(StepId step, std::span<const MergedTerm> terms,
                       const VersionedParameters& parameters, const std::atomic<bool>& cancel,
                       std::span<float> sum, Tally& tally, const Final& final) {
  const auto is_weight = [this](const MergedTerm& term) { return IsWeight(term, model_); };
  const auto weights = std::count_if(terms.begin(), terms.end(), is_weight);
  if (weights > 0) {
    const bool all = static_cast<size_t>(weights) == terms.size();
    const Final told = all ? final : Final();
    MOTLEY_RETURN_IF_ERROR(Begin(parameters, sum));
    MOTLEY_RETURN_IF_ERROR(AddWeights(step, terms, cancel, told));
    MOTLEY_RETURN_IF_ERROR(Finish(tally, told));
  }
  for (const MergedTerm& term : terms) {
    if (is_weight(term)) continue;
    scratch_.assign(VectorLength(count_), 0.0f);
    MOTLEY_RETURN_IF_ERROR(Begin(parameters, scratch_));
    MOTLEY_RETURN_IF_ERROR(Gather(step, term, 1, cancel));
    MOTLEY_RETURN_IF_ERROR(Flush(cancel));
    Tally of_term;
    MOTLEY_RETURN_IF_ERROR(Finish(of_term));
    tally.Add(term.coefficient, of_term);
    AddWeighted(term.coefficient, term.other_parts, term.ends, scratch_, sum, device_.parallel());
  }
  return Status::Ok();
}

Status TermWorker::Begin(const VersionedParameters& parameters, std::span<float> sum) {
  samples_failed_ = false;
  if (dense_rows_ == 0) dense_rows_ = RowsWithRoom(device_, model_);
  weight_ = 0;
  Clear(batch_);
  weights_.clear();
  numbers_.clear();
  return session_.Begin(parameters.values, parameters.version, sum.first(count_));
}

Status TermWorker::AddWeights(StepId step, std::span<const MergedTerm> terms,
                              const std::atomic<bool>& cancel, const Final& final) {
  for (const MergedTerm& term : terms) {
    if (!IsWeight(term, model_)) continue;
    MOTLEY_RETURN_IF_ERROR(Gather(step, term, term.coefficient, cancel));
  }
  return Flush(cancel, final);
}

ModelSession::Final TermWorker::WithWeight(const Final& final) const {
  if (!final) return nullptr;
  return [this, &final](size_t begin, size_t end, std::complex<double> loss) {
    final(begin, end, {loss, weight_});
  };
}

Status TermWorker::Finish(Tally& tally, const Final& final) {
  std::complex<double> loss = 0;
  MOTLEY_RETURN_IF_ERROR(session_.Finish(loss, WithWeight(final)));
  tally.Add(1, {loss, weight_});
  return Status::Ok();
}

Status TermWorker::Gather(StepId step, const MergedTerm& term, std::complex<double> weight,
                          const std::atomic<bool>& cancel) {
  const StepBatch samples = schedule_.At(step);
  step_ = step;
  for (const PartitionSlice& slice : term.slices) {
    rows_.clear();
    samples.AppendRows(slice.range.begin, slice.range.count,
                       schedule_.first_sample(slice.partition), rows_);
    MOTLEY_RETURN_IF_ERROR(GatherSlice(rows_, slice, weight, cancel));
  }
  return Status::Ok();
}

Status TermWorker::GatherSlice(std::span<const uint32_t> rows, const PartitionSlice& slice,
                               std::complex<double> weight, const std::atomic<bool>& cancel) {
  const DataSource& block = *slice.block;
  const DataShape shape = block.shape();
  const uint64_t first_sample = schedule_.first_sample(slice.partition);
  MOTLEY_ASSERT(batch_.rows() == 0 || batch_.sparse == shape.sparse);
  const auto alike = [&] { return !weights_.empty() && weights_.back().weight == weight; };
  if (batch_.storage != shape.storage ||
      (weights_.size() == ModelSession::kMostWeights && !alike())) {
    MOTLEY_RETURN_IF_ERROR(Flush(cancel));
  }
  batch_.features = shape.features;
  batch_.classes = shape.classes;
  batch_.sparse = shape.sparse;
  batch_.storage = shape.storage;
  const size_t most = shape.sparse ? kGatherRows : dense_rows_;
  while (!rows.empty()) {
    const size_t taken = std::min(rows.size(), most - batch_.rows());
    const Status read = block.AppendTo(batch_, rows.first(taken));
    samples_failed_ = !read.ok();
    MOTLEY_RETURN_IF_ERROR(read);
    for (size_t i = 0; model_.spec().dropout > 0 && i < taken; ++i) {
      numbers_.push_back(static_cast<uint32_t>(first_sample + rows[i]));
    }
    if (!alike()) weights_.push_back({.weight = weight});
    weights_.back().rows += taken;
    rows = rows.subspan(taken);
    if (batch_.rows() == most) MOTLEY_RETURN_IF_ERROR(Flush(cancel));
  }
  return Status::Ok();
}

Status TermWorker::Flush(const std::atomic<bool>& cancel, const Final& final) {
  if (batch_.rows() == 0) return Status::Ok();
  if (cancel.load(std::memory_order_relaxed)) {
    return Status::Cancelled("the gradient was no longer wanted");
  }
  std::span<const float> labels = batch_.label;
  for (const auto& [rows, weight] : weights_) {
    weight_ += WeightOf(model_.spec(), labels.first(rows)) * weight;
    labels = labels.subspan(rows);
  }
  const BatchOrigin origin{schedule_.seed(), step_, numbers_};
  const Status status = session_.Add(batch_, weights_, WithWeight(final), origin);
  samples_failed_ = status.code() == StatusCode::kInvalidArgument;
  Clear(batch_);
  weights_.clear();
  numbers_.clear();
  return status;
}

}  // namespace motley
