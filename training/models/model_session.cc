// SPDX-License-Identifier: Apache-2.0
#include "training/models/model_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.h"

namespace motley {
namespace {

// Losses that may stay on the device before they are fetched, so that not every batch waits.
constexpr size_t kLosses = ModelSession::kMostWeights;
// Buffers of the device's memory.
constexpr size_t kParameters = 0, kGradient = 1, kLoss = 2, kClassWeights = 3;

}  // namespace

ModelSession::ModelSession(Device& device, const Model& model)
    : device_(device),
      model_(model),
      memory_(device),
      workspace_(device),
      batches_{BatchMemory(device), BatchMemory(device)} {}

Status ModelSession::BeginParameters(std::span<const float> parameters,
                                     std::optional<uint64_t> version) {
  if (parameters.size() != model_.parameter_count()) {
    return Status::InvalidArgument(fmt::format("{} has {} parameters, not {}", model_.spec().name,
                                               model_.parameter_count(), parameters.size()));
  }
  if (device_.host_accessible()) {
    parameters_ = parameters.data();
    return Status::Ok();
  }
  MOTLEY_ASSIGN_OR_RETURN(place_, memory_.Piece(kParameters, parameters.size_bytes()));
  parameters_ = place_->floats();
  host_parameters_ = parameters;
  if (version && version == version_) return Status::Ok();
  version_ = version;
  placed_ = 0;
  placeable_ = device_.Mark();
  return Status::Ok();
}

Status ModelSession::BeforeReading(size_t, size_t end) {
  if (device_.host_accessible() || end <= placed_) return Status::Ok();
  const std::span<const float> range = host_parameters_.subspan(placed_, end - placed_);
  MOTLEY_RETURN_IF_ERROR(
      device_.CopyInAfter(placeable_, *place_, placed_ * sizeof(float), std::as_bytes(range)));
  placed_ = end;
  return Status::Ok();
}

void ModelSession::AfterAdding(size_t begin, size_t end) {
  if (begin == end) return;
  if (device_.host_accessible()) {
    // The device's kernels are done when they return.
    if (final_ != nullptr && CollectLosses().ok()) (*final_)(begin, end, loss_);
    return;
  }
  const auto same = [&](const Added& added) { return added.begin == begin; };
  auto it = std::find_if(added_.begin(), added_.end(), same);
  if (it == added_.end()) it = added_.insert(it, {begin, end, kNow});
  MOTLEY_ASSERT(it->end == end);
  it->moment = device_.Mark();
}

Status ModelSession::CheckBatch(const Dataset& batch) const {
  const ModelSpec& spec = model_.spec();
  if (batch.features == spec.features) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{} takes samples of {} features, not {}", spec.name,
                                             spec.features, batch.features));
}

Result<DeviceBatch> ModelSession::Place(const Dataset& batch) {
  turn_ = 1 - turn_;
  if (!batch.sparse || model_.takes_sparse()) return batches_[turn_].Place(batch);
  dense_ = Densify(batch);
  return batches_[turn_].Place(dense_);
}

Result<const float*> ModelSession::ClassWeights() {
  const std::vector<float>& weights = model_.spec().class_weights;
  if (weights.empty() || class_weights_ != nullptr) return class_weights_;
  if (device_.host_accessible()) return weights.data();
  const std::span<const float> values = weights;
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const piece, memory_.Piece(kClassWeights, values.size_bytes()));
  MOTLEY_RETURN_IF_ERROR(device_.CopyIn(*piece, 0, std::as_bytes(values)));
  return class_weights_ = piece->floats();
}

Status ModelSession::Begin(std::span<const float> parameters, std::optional<uint64_t> version,
                           std::span<float> gradient) {
  MOTLEY_RETURN_IF_ERROR(BeginParameters(parameters, version));
  if (gradient.size() != model_.parameter_count()) {
    return Status::InvalidArgument(fmt::format("{} with {} parameters cannot fill a gradient of {}",
                                               model_.spec().name, model_.parameter_count(),
                                               gradient.size()));
  }
  sum_ = gradient;
  loss_ = 0;
  added_.clear();
  if (device_.host_accessible()) {
    gradient_ = gradient.data();
  } else {
    MOTLEY_ASSIGN_OR_RETURN(gradient_, memory_.Floats(kGradient, gradient.size()));
    device_.kernels().fill(device_.queue(), gradient.size(), 0, gradient_);
  }
  return ClearLosses();
}

Status ModelSession::Add(const Dataset& batch, double weight) {
  const RowWeight all{.rows = batch.rows(), .weight = weight};
  return Add(batch, RowWeights(&all, 1));
}

Status ModelSession::PlaceTraining(const BatchOrigin& origin, DeviceBatch& batch) {
  MOTLEY_ASSIGN_OR_RETURN(batch.class_weight, ClassWeights());
  if (model_.spec().dropout == 0) return Status::Ok();
  MOTLEY_ASSERT(origin.samples.empty() || origin.samples.size() == batch.rows);
  std::vector<uint32_t>& numbers = numbers_[turn_];
  numbers.assign(origin.samples.begin(), origin.samples.end());
  for (size_t row = numbers.size(); row < batch.rows; ++row) {
    numbers.push_back(static_cast<uint32_t>(row));
  }
  batch.seed = origin.seed;
  batch.step = origin.step;
  MOTLEY_ASSIGN_OR_RETURN(batch.sample, batches_[turn_].PlaceNumbers(numbers));
  return Status::Ok();
}

Status ModelSession::Add(const Dataset& batch, RowWeights weights, const Final& final,
                         const BatchOrigin& origin) {
  MOTLEY_ASSERT(gradient_ != nullptr || sum_.empty());
  MOTLEY_ASSERT(weights.size() <= kMostWeights);
  MOTLEY_RETURN_IF_ERROR(CheckBatch(batch));
  if (batch.classes != model_.spec().classes) {
    return Status::InvalidArgument(fmt::format("{} is for {} classes, the samples have {}",
                                               model_.spec().name, model_.spec().classes,
                                               batch.classes));
  }
  if (batch.rows() == 0) return Status::Ok();
  if (weights_.size() + weights.size() > kLosses) {
    MOTLEY_RETURN_IF_ERROR(CollectLosses());
    MOTLEY_RETURN_IF_ERROR(ClearLosses());
  }
  MOTLEY_ASSIGN_OR_RETURN(DeviceBatch placed, Place(batch));
  MOTLEY_RETURN_IF_ERROR(PlaceTraining(origin, placed));
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const losses, memory_.Piece(kLoss, kLosses * sizeof(double)));
  double* const first = static_cast<double*>(losses->data()) + weights_.size();
  for (const RowWeight& run : weights) weights_.push_back(run.weight);
  final_ = final ? &final : nullptr;
  const Status added =
      model_.AddGradient(workspace_, parameters_, placed, weights, gradient_, first, *this);
  final_ = nullptr;
  MOTLEY_RETURN_IF_ERROR(added);
  batches_[turn_].Used();
  return Status::Ok();
}

Status ModelSession::Finish(double& loss) {
  std::complex<double> weighted = 0;
  MOTLEY_RETURN_IF_ERROR(Finish(weighted));
  loss += weighted.real();
  return Status::Ok();
}

Status ModelSession::Finish(std::complex<double>& loss, const Final& final) {
  if (!device_.host_accessible()) MOTLEY_RETURN_IF_ERROR(TakeGradient(final));
  MOTLEY_RETURN_IF_ERROR(CollectLosses());
  loss += loss_;
  return Status::Ok();
}

Status ModelSession::TakeGradient(const Final& final) {
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const piece, memory_.Piece(kGradient, sum_.size_bytes()));
  std::sort(added_.begin(), added_.end(),
            [](const Added& a, const Added& b) { return a.moment < b.moment; });
  // Fetches losses before gradients, so that no copy waits longer than necessary.
  if (final && !added_.empty()) MOTLEY_RETURN_IF_ERROR(CollectLosses(added_.front().moment));
  for (const Added& added : added_) {
    const auto add = [&](size_t offset, BytesView bytes) {
      const auto* const values = reinterpret_cast<const float*>(bytes.data());
      float* const to = sum_.data() + added.begin + offset / sizeof(float);
      device_.parallel().For(bytes.size() / sizeof(float), 1 << 16, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) to[i] += values[i];
      });
    };
    MOTLEY_RETURN_IF_ERROR(device_.CopyOutAfter(added.moment, *piece, added.begin * sizeof(float),
                                                (added.end - added.begin) * sizeof(float), add));
    if (final) final(added.begin, added.end, loss_);
  }
  return Status::Ok();
}

Status ModelSession::ClearLosses() {
  constexpr std::array<double, kLosses> kZero{};
  weights_.clear();
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const piece, memory_.Piece(kLoss, sizeof(kZero)));
  return device_.CopyIn(*piece, 0, std::as_bytes(std::span(kZero)));
}

Status ModelSession::CollectLosses(Moment after) {
  if (weights_.empty()) return Status::Ok();
  std::array<double, kLosses> losses;
  const auto take = [&losses](size_t offset, BytesView bytes) {
    std::memcpy(std::as_writable_bytes(std::span(losses)).data() + offset, bytes.data(),
                bytes.size());
  };
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const piece, memory_.Piece(kLoss, sizeof(losses)));
  MOTLEY_RETURN_IF_ERROR(device_.CopyOutAfter(after, *piece, 0, sizeof(losses), take));
  for (size_t i = 0; i < weights_.size(); ++i) loss_ += weights_[i] * losses[i];
  weights_.clear();
  return Status::Ok();
}

Status ModelSession::Forward(std::span<const float> parameters, std::optional<uint64_t> version,
                             const Dataset& batch, std::vector<float>& outputs) {
  outputs.clear();
  MOTLEY_RETURN_IF_ERROR(BeginParameters(parameters, version));
  MOTLEY_RETURN_IF_ERROR(CheckBatch(batch));
  if (batch.rows() == 0) return Status::Ok();
  MOTLEY_RETURN_IF_ERROR(BeforeReading(0, parameters.size()));
  MOTLEY_ASSIGN_OR_RETURN(const DeviceBatch placed, Place(batch));
  MOTLEY_ASSIGN_OR_RETURN(const Buffer* const results,
                          model_.Forward(workspace_, parameters_, placed));
  outputs.resize(batch.rows() * model_.outputs());
  return device_.CopyOut(*results, 0, std::as_writable_bytes(std::span(outputs)));
}

}  // namespace motley
