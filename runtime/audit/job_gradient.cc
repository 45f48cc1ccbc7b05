// SPDX-License-Identifier: Apache-2.0
#include "runtime/audit/job_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "coding/kernels/combine.h"
#include "data/index_source.h"
#include "training/models/model.h"
#include "training/trainers/callback_trainer.h"

namespace motley {
namespace {

class ModelGradient final : public JobGradient {
 public:
  ModelGradient(std::unique_ptr<Model> model, uint64_t seed)
      : model_(std::move(model)), seed_(seed) {}

  uint64_t parameter_count() const override { return model_->parameter_count(); }
  Status Initialize(uint64_t seed, std::span<float> parameters) const override {
    model_->Initialize(seed, parameters);
    return Status::Ok();
  }
  bool can_sum() const override { return true; }
  bool divisible() const override { return true; }
  Status Sum(Device& device, const Samples& samples, std::span<const float> parameters,
             const DataSource& data, const std::atomic<bool>& cancelled, std::span<float> gradient,
             Tally& tally) override {
    if (cancelled) return Status::Cancelled("the sum was no longer wanted");
    MOTLEY_ASSIGN_OR_RETURN(const Dataset batch, data.Gather(samples.rows));
    double loss = 0;
    MOTLEY_RETURN_IF_ERROR(model_->AddGradient(device, parameters, batch, 1.0, gradient, loss,
                                               {seed_, samples.step, samples.rows}));
    tally.Add(1, {loss, WeightOf(model_->spec(), batch.label)});
    return Status::Ok();
  }

 private:
  std::unique_ptr<Model> model_;
  const uint64_t seed_;
};

class ForeignGradient final : public JobGradient {
 public:
  ForeignGradient(std::shared_ptr<const ForeignTrainer> foreign, uint64_t job)
      : foreign_(std::move(foreign)), job_(job) {}

  uint64_t parameter_count() const override { return foreign_->parameter_count; }

  Status Initialize(uint64_t seed, std::span<float> parameters) const override {
    if (!foreign_->initialize) return Status::Ok();
    MOTLEY_RETURN_IF_ERROR(
        foreign_->initialize(seed, parameters).WithContext("the first parameters"));
    if (std::isfinite(SumOfSquares(parameters))) return Status::Ok();
    return Status::Callback("the first parameters, as the trainer made them, are not finite");
  }

  const ForeignTrainer* own_rule() const override {
    return foreign_->apply ? foreign_.get() : nullptr;
  }
  bool can_sum() const override { return foreign_->accumulate && !foreign_->hold; }

  bool divisible() const override { return false; }

  // The caller's function finds its vectors in memory of its own here, too. A copy costs little
  // beside a sum.
  Status Sum(Device&, const Samples& of, std::span<const float> parameters, const DataSource& data,
             const std::atomic<bool>& cancelled, std::span<float> gradient, Tally& tally) override {
    if (foreign_->memory == nullptr) return Add(of, parameters, data, cancelled, gradient, tally);
    MOTLEY_RETURN_IF_ERROR(MakeVectors());
    std::ranges::copy(parameters, vectors_.parameters->begin());
    std::ranges::copy(gradient, vectors_.sum->begin());
    const Status added = Add(of, *vectors_.parameters, data, cancelled, *vectors_.sum, tally);
    std::ranges::copy(*vectors_.sum, gradient.begin());
    return added;
  }

 private:
  Status MakeVectors() {
    if (vectors_.sum != nullptr) return Status::Ok();
    constexpr char kWhat[] = "an audit's sum";
    const uint64_t count = parameter_count();
    MOTLEY_ASSIGN_OR_RETURN(vectors_.parameters, HostVector::Make(kWhat, count, foreign_->memory));
    MOTLEY_ASSIGN_OR_RETURN(vectors_.sum, HostVector::Make(kWhat, count, foreign_->memory));
    return Status::Ok();
  }

  Status Add(const Samples& of, std::span<const float> parameters, const DataSource& data,
             const std::atomic<bool>& cancelled, std::span<float> gradient, Tally& tally) const {
    Dataset batch;
    const bool theirs = CallerOwned(data.shape());
    if (!theirs) {
      MOTLEY_ASSIGN_OR_RETURN(batch, data.Gather(of.rows));
      Widen(batch);
    }
    const std::vector<uint64_t> samples(of.rows.begin(), of.rows.end());
    static const std::function<void(uint64_t)> kNobody = [](uint64_t) {};
    static const std::function<void(size_t, size_t)> kNowhere = [](size_t, size_t) {};
    double loss = 0;
    auto weight = static_cast<double>(samples.size());
    const Status status = foreign_->accumulate({.begin = of.begin,
                                                .end = of.end,
                                                .step = of.step,
                                                .job = job_,
                                                .version = of.version,
                                                .parameters = parameters,
                                                .samples = samples,
                                                .batch = theirs ? nullptr : &batch,
                                                .coefficient = 1,
                                                .sum = gradient,
                                                .loss = &loss,
                                                .weight = &weight,
                                                .cancelled = cancelled,
                                                .progress = kNobody,
                                                .ready = kNowhere});
    tally.Add(1, {loss, weight});
    return cancelled ? Status::Cancelled("the sum was no longer wanted") : status;
  }

  std::shared_ptr<const ForeignTrainer> foreign_;
  const uint64_t job_;
  struct {
    SharedVector parameters, sum;
  } vectors_;  // In the caller's memory, if there is any.
};

}  // namespace

Result<std::unique_ptr<JobGradient>> JobGradient::Create(const JobOptions& options,
                                                         const DataShape& shape) {
  if (options.foreign != nullptr) {
    MOTLEY_RETURN_IF_ERROR(CheckForeign(*options.foreign));
    return std::unique_ptr<JobGradient>(
        std::make_unique<ForeignGradient>(options.foreign, options.job_id));
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
  return std::unique_ptr<JobGradient>(
      std::make_unique<ModelGradient>(std::move(model), options.seed));
}

}  // namespace motley
