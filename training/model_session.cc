// SPDX-License-Identifier: Apache-2.0
#include "training/model_session.h"

#include <fmt/format.h>

#include <array>

#include "base/assert.h"

namespace motley {
namespace {

// Losses that stay on the device before they are fetched, so that not every batch waits.
constexpr size_t kLosses = 64;
constexpr size_t kParameters = 0, kGradient = 1, kLoss = 2;  // Pieces of memory.

}  // namespace

ModelSession::ModelSession(Device& device, const Model& model)
    : device_(device), model_(model), memory_(device), workspace_(device), batches_(device) {}

Status ModelSession::PlaceParameters(std::span<const float> parameters,
                                     std::optional<uint64_t> version) {
  if (parameters.size() != model_.parameter_count()) {
    return Status::InvalidArgument(fmt::format("{} has {} parameters, not {}", model_.spec().name,
                                               model_.parameter_count(), parameters.size()));
  }
  if (device_.host_accessible()) {
    parameters_ = parameters.data();
    return Status::Ok();
  }
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const piece, memory_.Piece(kParameters, parameters.size_bytes()));
  parameters_ = piece->floats();
  if (version && version == version_) return Status::Ok();
  version_.reset();
  MOTLEY_RETURN_IF_ERROR(device_.CopyIn(*piece, 0, std::as_bytes(parameters)));
  version_ = version;
  return Status::Ok();
}

Status ModelSession::CheckBatch(const Dataset& batch) const {
  const ModelSpec& spec = model_.spec();
  if (batch.features == spec.features) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{} takes samples of {} features, not {}", spec.name,
                                             spec.features, batch.features));
}

Result<DeviceBatch> ModelSession::Place(const Dataset& batch) {
  if (!batch.sparse || model_.takes_sparse()) return batches_.Place(batch);
  dense_ = Densify(batch);
  return batches_.Place(dense_);
}

Status ModelSession::Begin(std::span<const float> parameters, std::optional<uint64_t> version,
                           std::span<float> gradient) {
  MOTLEY_RETURN_IF_ERROR(PlaceParameters(parameters, version));
  if (gradient.size() != model_.parameter_count()) {
    return Status::InvalidArgument(fmt::format("{} with {} parameters cannot fill a gradient of {}",
                                               model_.spec().name, model_.parameter_count(),
                                               gradient.size()));
  }
  sum_ = gradient;
  loss_ = 0;
  if (device_.host_accessible()) {
    gradient_ = gradient.data();
  } else {
    MOTLEY_ASSIGN_OR_RETURN(gradient_, memory_.Floats(kGradient, gradient.size()));
    device_.kernels().fill(device_.queue(), gradient.size(), 0, gradient_);
  }
  return ClearLosses();
}

Status ModelSession::Add(const Dataset& batch, double weight) {
  MOTLEY_ASSERT(gradient_ != nullptr || sum_.empty());
  MOTLEY_RETURN_IF_ERROR(CheckBatch(batch));
  if (batch.classes != model_.spec().classes) {
    return Status::InvalidArgument(fmt::format("{} is for {} classes, the samples have {}",
                                               model_.spec().name, model_.spec().classes,
                                               batch.classes));
  }
  if (batch.rows() == 0) return Status::Ok();
  if (weights_.size() == kLosses) MOTLEY_RETURN_IF_ERROR(CollectLosses());
  MOTLEY_ASSIGN_OR_RETURN(const DeviceBatch placed, Place(batch));
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const losses, memory_.Piece(kLoss, kLosses * sizeof(double)));
  double* const loss = static_cast<double*>(losses->data()) + weights_.size();
  weights_.push_back(weight);
  return model_.AddGradient(workspace_, parameters_, placed, static_cast<float>(weight), gradient_,
                            loss);
}

Status ModelSession::Finish(double& loss) {
  MOTLEY_RETURN_IF_ERROR(CollectLosses());
  loss += loss_;
  if (device_.host_accessible()) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const piece, memory_.Piece(kGradient, sum_.size_bytes()));
  taken_.resize(sum_.size());
  MOTLEY_RETURN_IF_ERROR(device_.CopyOut(*piece, 0, std::as_writable_bytes(std::span(taken_))));
  device_.parallel().For(sum_.size(), 1 << 16, [this](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) sum_[i] += taken_[i];
  });
  return Status::Ok();
}

Status ModelSession::ClearLosses() {
  constexpr std::array<double, kLosses> kZero{};
  weights_.clear();
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const piece, memory_.Piece(kLoss, sizeof(kZero)));
  return device_.CopyIn(*piece, 0, std::as_bytes(std::span(kZero)));
}

Status ModelSession::CollectLosses() {
  std::array<double, kLosses> losses;
  MOTLEY_ASSIGN_OR_RETURN(Buffer* const piece, memory_.Piece(kLoss, sizeof(losses)));
  MOTLEY_RETURN_IF_ERROR(device_.CopyOut(*piece, 0, std::as_writable_bytes(std::span(losses))));
  for (size_t i = 0; i < weights_.size(); ++i) loss_ += weights_[i] * losses[i];
  return ClearLosses();
}

Status ModelSession::Forward(std::span<const float> parameters, std::optional<uint64_t> version,
                             const Dataset& batch, std::vector<float>& outputs) {
  outputs.clear();
  MOTLEY_RETURN_IF_ERROR(PlaceParameters(parameters, version));
  MOTLEY_RETURN_IF_ERROR(CheckBatch(batch));
  if (batch.rows() == 0) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(const DeviceBatch placed, Place(batch));
  MOTLEY_ASSIGN_OR_RETURN(const Buffer* const results,
                          model_.Forward(workspace_, parameters_, placed));
  outputs.resize(batch.rows() * model_.outputs());
  return device_.CopyOut(*results, 0, std::as_writable_bytes(std::span(outputs)));
}

}  // namespace motley
