// SPDX-License-Identifier: Apache-2.0
// Runs a model on one device, between the host's memory and the device's. Where the device shares
// the host's memory nothing is copied. On other devices, parameters are copied once per version,
// samples as they come, and a sum when it is finished.
//
// Copies overlap kernels: the next samples are copied while a batch is computed, a layer's
// parameters while earlier layers compute, and a layer's gradient while those of earlier layers are
// computed.
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

// Used on the device's thread, by one thread at a time. `device` and `model` are borrowed. Device
// memory is kept from call to call. kInvalidArgument: sizes or samples of another model. kResource:
// the device is out of memory.
class ModelSession final : ParameterTurns {
 public:
  ModelSession(Device& device, const Model& model);

  // Begins a sum and drops an unfinished one. Both spans (parameter_count floats) must stay valid
  // until Finish. Equal `version` numbers mean equal parameters; without a version the parameters
  // are taken for new.
  Status Begin(std::span<const float> parameters, std::optional<uint64_t> version,
               std::span<float> gradient);
  // gradient += weight * (sum over the samples of the loss gradient). Class weights of the model
  // are included.
  Status Add(const Dataset& batch, double weight);
  // Called when gradient[begin, end) is complete while other ranges are still computed. `loss` is
  // the sum of each sample's weight * loss. The calls below pass each range once.
  using Final = std::function<void(size_t begin, size_t end, std::complex<double> loss)>;
  // Like Add, for rows of different weights (see Model::AddGradient); at most kMostWeights. A call
  // with `final` must be the last of the sum.
  static constexpr size_t kMostWeights = 64;
  Status Add(const Dataset& batch, RowWeights weights, const Final& final = nullptr,
             const BatchOrigin& origin = {});
  // Completes `gradient`, and adds each sample's weight * loss to `loss`.
  Status Finish(std::complex<double>& loss, const Final& final = nullptr);
  Status Finish(double& loss);

  // The model's outputs for each row [rows, outputs].
  Status Forward(std::span<const float> parameters, std::optional<uint64_t> version,
                 const Dataset& batch, std::vector<float>& outputs);

 private:
  Status CheckBatch(const Dataset& batch) const;
  // Copies the batch to the device, valid until the next call; dense if the model takes only dense
  // batches.
  Result<DeviceBatch> Place(const Dataset& batch);
  // Adds what only training needs: class weights and numbers of samples.
  Status PlaceTraining(const BatchOrigin& origin, DeviceBatch& batch);
  // The model's class weights on the device; null: it has none.
  Result<const float*> ClassWeights();
  // Allocates; BeforeReading copies.
  Status BeginParameters(std::span<const float> parameters, std::optional<uint64_t> version);
  Status BeforeReading(size_t begin, size_t end) override;
  void AfterAdding(size_t begin, size_t end) override;
  // sum_ += the device's gradient, in the order in which its ranges became complete.
  Status TakeGradient(const Final& final);
  // Collects the losses of calls before `after`.
  Status CollectLosses(Moment after = kNow);
  Status ClearLosses();

  Device& device_;
  const Model& model_;
  DeviceMemory memory_;     // Parameters, gradient, losses.
  DeviceMemory workspace_;  // Workspace of the model.
  BatchMemory batches_[2];  // Used in turn: one is filled while kernels use the other.
  size_t turn_ = 0;
  Dataset dense_;                     // A sparse batch made dense, for models that need it.
  std::vector<uint32_t> numbers_[2];  // Numbers of the samples in batches_.

  // Parameters of the current sum, in the device's memory.
  const float* parameters_ = nullptr;
  float* gradient_ = nullptr;
  const float* class_weights_ = nullptr;       // Null until they are needed.
  std::vector<std::complex<double>> weights_;  // One per loss that is still on the device.
  std::complex<double> loss_;                  // Weighted losses already on the host.
  const Final* final_ = nullptr;               // Set while the last batch is computed.

  std::optional<uint64_t> version_;         // Version of the parameters on the device.
  std::span<const float> host_parameters_;  // Parameters still to be copied; empty when done.
  size_t placed_ = 0;                       // Number of parameters already copied.
  Buffer* place_ = nullptr;                 // Buffer of the parameters.
  Moment placeable_ = kNow;                 // Copies must wait for kernels before this.
  std::span<float> sum_;                    // The host's sum.
  struct Added {
    size_t begin, end;
    Moment moment;
  };
  std::vector<Added> added_;  // Completed ranges of the gradient, with their times.
};

}  // namespace motley
