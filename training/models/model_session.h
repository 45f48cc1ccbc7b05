// SPDX-License-Identifier: Apache-2.0
// A model at work on one device, between the host's memory and the device's. Where the device
// shares the host's memory nothing is copied; elsewhere parameters go in once per version, samples
// as they come, and a sum comes back when it is finished. Copies run beside kernels: the next
// samples go in while a batch is computed, a layer's parameters while the layers before compute,
// and a layer's gradient comes out while those of the layers before are still made.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "data/dataset.h"
#include "devices/device.h"
#include "training/models/device_memory.h"
#include "training/models/model.h"

namespace motley {

// On the device's thread, one thread at a time. `device` and `model` are borrowed. Keeps its memory
// on the device from call to call. kInvalidArgument: sizes or samples of another model; kResource:
// the device has not enough memory.
class ModelSession final : ParameterTurns {
 public:
  ModelSession(Device& device, const Model& model);

  // Begins a sum; one that was not finished is dropped. Both spans (parameter_count floats) stay
  // valid until Finish. `version`: the same number means the same parameters as before; without it
  // nothing is known of them.
  Status Begin(std::span<const float> parameters, std::optional<uint64_t> version,
               std::span<float> gradient);
  // gradient += weight * (sum over the samples of the loss gradient). Losses and gradients are
  // those of the model's class weights.
  Status Add(const Dataset& batch, double weight);
  // Told that values [begin, end) of the gradient are complete, while others are made, and every
  // sample's weight * its loss. Each range once, from the calls below.
  using Final = std::function<void(size_t begin, size_t end, std::complex<double> loss)>;
  // The same where rows weigh differently, as Model::AddGradient takes weights; up to kMostWeights.
  // With `final` it is the last batch.
  static constexpr size_t kMostWeights = 64;
  Status Add(const Dataset& batch, RowWeights weights, const Final& final = nullptr,
             const BatchOrigin& origin = {});
  // `gradient` is complete; loss += every sample's weight * its loss.
  Status Finish(std::complex<double>& loss, const Final& final = nullptr);
  Status Finish(double& loss);

  // The model's outputs for each row [rows, outputs].
  Status Forward(std::span<const float> parameters, std::optional<uint64_t> version,
                 const Dataset& batch, std::vector<float>& outputs);

 private:
  Status CheckBatch(const Dataset& batch) const;
  // On the device, until the next call; dense where the model takes nothing else.
  Result<DeviceBatch> Place(const Dataset& batch);
  // Adds what only training needs: class weights, numbers of samples.
  Status PlaceTraining(const BatchOrigin& origin, DeviceBatch& batch);
  // The model's, on the device; null: it has none.
  Result<const float*> ClassWeights();
  // Makes room; BeforeReading copies.
  Status BeginParameters(std::span<const float> parameters, std::optional<uint64_t> version);
  Status BeforeReading(size_t begin, size_t end) override;
  void AfterAdding(size_t begin, size_t end) override;
  // sum_ += the device's gradient, in the order in which it became complete.
  Status TakeGradient(const Final& final);
  // Those of what was called before `after`.
  Status CollectLosses(Moment after = kNow);
  Status ClearLosses();

  Device& device_;
  const Model& model_;
  DeviceMemory memory_;     // Parameters, gradient, losses.
  DeviceMemory workspace_;  // The model's.
  BatchMemory batches_[2];  // Take turns: one is filled while kernels use the other.
  size_t turn_ = 0;
  Dataset dense_;                     // A sparse batch, for a model that takes none.
  std::vector<uint32_t> numbers_[2];  // Of the samples in batches_.

  // Of the sum that is being made, in the device's memory.
  const float* parameters_ = nullptr;
  float* gradient_ = nullptr;
  const float* class_weights_ = nullptr;       // Once they were wanted.
  std::vector<std::complex<double>> weights_;  // One per loss that is still on the device.
  std::complex<double> loss_;                  // Weighted losses that are here.
  const Final* final_ = nullptr;               // Of the last batch, while it is computed.

  std::optional<uint64_t> version_;         // Of the parameters on the device.
  std::span<const float> host_parameters_;  // While there are some to be copied.
  size_t placed_ = 0;                       // So many of them are there.
  Buffer* place_ = nullptr;                 // Theirs.
  Moment placeable_ = kNow;                 // Kernels before it may use other ones.
  std::span<float> sum_;                    // The host's.
  struct Added {
    size_t begin, end;
    Moment moment;
  };
  std::vector<Added> added_;  // Ranges of the gradient, and when they were complete.
};

}  // namespace motley
