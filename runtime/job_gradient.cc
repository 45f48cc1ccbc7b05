// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_gradient.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "coding/combine.h"
#include "training/callback_trainer.h"
#include "training/index_source.h"
#include "training/model.h"

namespace motley {
namespace {

class ModelGradient final : public JobGradient {
 public:
  explicit ModelGradient(std::unique_ptr<Model> model) : model_(std::move(model)) {}

  uint64_t parameter_count() const override { return model_->parameter_count(); }
  Status Initialize(uint64_t seed, std::span<float> parameters) const override {
    model_->Initialize(seed, parameters);
    return Status::Ok();
  }
  bool can_sum() const override { return true; }
  Status Sum(Device& device, StepId, std::span<const float> parameters, const DataSource& data,
             std::span<const uint32_t> rows, const std::atomic<bool>&, std::span<float> gradient,
             double& loss) override {
    MOTLEY_ASSIGN_OR_RETURN(const Dataset batch, data.Gather(rows));
    return model_->AddGradient(device, parameters, batch, 1.0, gradient, loss);
  }

 private:
  std::unique_ptr<Model> model_;
};

class ForeignGradient final : public JobGradient {
 public:
  ForeignGradient(std::shared_ptr<const ForeignTrainer> foreign, uint32_t partitions)
      : foreign_(std::move(foreign)), partitions_(partitions) {}

  uint64_t parameter_count() const override { return foreign_->parameter_count; }

  Status Initialize(uint64_t seed, std::span<float> parameters) const override {
    if (!foreign_->initialize) return Status::Ok();
    MOTLEY_RETURN_IF_ERROR(
        foreign_->initialize(seed, parameters).WithContext("the first parameters"));
    if (std::isfinite(SumOfSquares(parameters))) return Status::Ok();
    return Status::Callback("the first parameters, as the trainer made them, are not finite");
  }

  bool can_sum() const override { return foreign_->accumulate && !foreign_->hold; }

  Status Sum(Device&, StepId step, std::span<const float> parameters, const DataSource& data,
             std::span<const uint32_t> rows, const std::atomic<bool>& cancelled,
             std::span<float> gradient, double& loss) override {
    Dataset batch;
    const bool theirs = CallerOwned(data.shape());
    if (!theirs) {
      MOTLEY_ASSIGN_OR_RETURN(batch, data.Gather(rows));
      Widen(batch);
    }
    const std::vector<uint64_t> samples(rows.begin(), rows.end());
    static const std::function<void(uint64_t)> kNobody = [](uint64_t) {};
    auto weight = static_cast<double>(samples.size());  // Of no use here: sums are compared.
    const Status status =
        foreign_->accumulate({.end = partitions_,  // All: a batch has samples of any.
                              .step = step,
                              .version = step,
                              .parameters = parameters,
                              .samples = samples,
                              .batch = theirs ? nullptr : &batch,
                              .coefficient = 1,
                              .sum = gradient,
                              .loss = &loss,
                              .weight = &weight,
                              .cancelled = cancelled,
                              .progress = kNobody});
    return cancelled ? Status::Cancelled("the sum was no longer wanted") : status;
  }

 private:
  std::shared_ptr<const ForeignTrainer> foreign_;
  const uint32_t partitions_;
};

}  // namespace

Result<std::unique_ptr<JobGradient>> JobGradient::Create(const JobOptions& options,
                                                         const DataShape& shape,
                                                         uint32_t partitions) {
  if (options.foreign != nullptr) {
    MOTLEY_RETURN_IF_ERROR(CheckForeign(*options.foreign));
    return std::unique_ptr<JobGradient>(
        std::make_unique<ForeignGradient>(options.foreign, partitions));
  }
  if (CallerOwned(shape)) {
    return Status::InvalidArgument(
        "a built-in model needs samples: give the job data, or a trainer that has some");
  }
  if (options.model.features != shape.features || options.model.classes != shape.classes) {
    return Status::InvalidArgument(
        fmt::format("the model is for {} features and {} classes, the data has {} and {}",
                    options.model.features, options.model.classes, shape.features, shape.classes));
  }
  MOTLEY_ASSIGN_OR_RETURN(auto model, Model::Create(options.model));
  return std::unique_ptr<JobGradient>(std::make_unique<ModelGradient>(std::move(model)));
}

}  // namespace motley
