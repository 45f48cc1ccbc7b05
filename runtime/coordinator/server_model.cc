// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/server_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "coding/kernels/combine.h"
#include "runtime/coordinator/saved_job.h"
#include "runtime/memory_need.h"
#include "runtime/shard/job_gradient.h"
#include "training/optimizers/optimizer.h"

namespace motley {

namespace {

// Copies a vector of any size, so it must not run on the loop's thread.
Result<std::vector<float>> CopyOf(std::span<const float> values) {
  return OrNoMemory("the copy that an audit needs", [values]() -> Result<std::vector<float>> {
    return std::vector<float>(values.begin(), values.end());
  });
}

}  // namespace

struct ServerModel::Shared {
  std::shared_ptr<JobGradient> gradient;
  std::unique_ptr<Optimizer> optimizer;
};

Result<std::unique_ptr<ServerModel>> ServerModel::Create(Device& device, const JobOptions& options,
                                                         const DataSource& data) {
  if (!device.host_accessible()) {
    return Status::InvalidArgument("the server's device must share the host's memory");
  }
  MOTLEY_ASSIGN_OR_RETURN(auto gradient, JobGradient::Create(options, data.shape()));
  const size_t count = gradient->parameter_count();
  MOTLEY_RETURN_IF_ERROR(
      CheckMemory("the server", count, ServerVectors(options), device.info().memory_bytes));
  MOTLEY_ASSIGN_OR_RETURN(auto optimizer, Optimizer::Create(options.optimizer, count));
  auto first = std::make_shared<std::vector<float>>(count);
  if (const SavedJob* saved = options.resume.get(); saved != nullptr) {
    if (saved->parameters->size() != count) {
      return Status::Conflict(fmt::format("the checkpoint has {} parameters, the model {}",
                                          saved->parameters->size(), count));
    }
    MOTLEY_RETURN_IF_ERROR(optimizer->Restore(saved->optimizer_steps, *saved->optimizer_state)
                               .WithContext("the checkpoint's optimizer state"));
    *first = *saved->parameters;
  } else if (options.first_parameters != nullptr) {
    if (options.first_parameters->size() != count) {
      return Status::InvalidArgument(fmt::format("{} first parameters for a model of {}",
                                                 options.first_parameters->size(), count));
    }
    *first = *options.first_parameters;
  } else {
    MOTLEY_RETURN_IF_ERROR(gradient->Initialize(options.seed, *first));
  }
  auto shared = std::shared_ptr<Shared>(new Shared{std::move(gradient), std::move(optimizer)});
  return std::unique_ptr<ServerModel>(
      new ServerModel(device, options, std::move(shared), std::move(first)));
}

ServerModel::ServerModel(Device& device, const JobOptions& options, std::shared_ptr<Shared> shared,
                         std::shared_ptr<std::vector<float>> first)
    : device_(device),
      shared_(std::move(shared)),
      most_copies_(MostVersions(options, first->size(), device.info().memory_bytes)) {
  copies_.push_back(first);
  // The next version's memory is taken now: no job is better than one that ends at its first
  // update.
  copies_.push_back(std::make_shared<std::vector<float>>(first->size()));
  parameters_ = std::move(first);
}

// Returns a copy that no send, audit or caller still reads.
std::shared_ptr<std::vector<float>> ServerModel::UnusedCopy() const {
  const auto unused = [](const auto& copy) { return copy.use_count() == 1; };
  const auto found = std::find_if(copies_.begin(), copies_.end(), unused);
  return found != copies_.end() ? *found : nullptr;
}

Result<std::shared_ptr<std::vector<float>>> ServerModel::Spare() {
  FreeSurplus();
  Status none = NoMemory("another version of the parameters");
  for (;;) {
    if (auto unused = UnusedCopy()) return unused;
    if (copies_.size() < most_copies_) {
      auto fresh =
          OrNoMemory("another version of the parameters",
                     [this]() -> Result<std::shared_ptr<std::vector<float>>> {
                       copies_.push_back(std::make_shared<std::vector<float>>(parameters_->size()));
                       return copies_.back();
                     });
      if (fresh.ok()) return fresh;
    }
    if (!crowded_ || !crowded_()) return none;
  }
}

// A slow reader that is done leaves its copy unused. The copy is kept for a while, because a worker
// that is slow in one step is slow in the next, and allocating a large vector takes time.
void ServerModel::FreeSurplus() {
  constexpr uint32_t kKeptFor = 16;  // Commits.
  const auto unused = [](const auto& copy) { return copy.use_count() == 1; };
  if (std::count_if(copies_.begin(), copies_.end(), unused) < 2) {
    surplus_for_ = 0;
  } else if (++surplus_for_ >= kKeptFor) {
    surplus_for_ = 0;
    copies_.erase(std::find_if(copies_.begin(), copies_.end(), unused));
  }
}

void ServerModel::Commit(StepId step, std::shared_ptr<AlignedVector> gradient, double weight,
                         std::shared_ptr<DecodedCopy> copy, Done done) {
  MOTLEY_ASSERT(!applying_);
  auto spare = Spare();
  if (!spare.ok()) return done(spare.status());
  const std::shared_ptr<std::vector<float>> next = std::move(spare).value();
  const ParameterCopy from = parameters_;
  auto work = [&device = device_, shared = shared_, from, next, gradient, weight, step, copy,
               factor = rate_factor_] {
    std::copy(from->begin(), from->end(), next->begin());
    const std::span<float> mean(gradient->data(), next->size());
    if (copy != nullptr) *copy = CopyOf(mean);
    MOTLEY_RETURN_IF_ERROR(shared->optimizer->Apply(device, mean, weight, *next, factor));
    if (std::isfinite(SumOfSquares(*next))) return Status::Ok();
    return Status::DataError(
        fmt::format("training diverged: parameters are no longer finite after step {}; lower "
                    "`learning_rate`, or limit the gradients with `clip`",
                    step));
  };
  // This thread releases `from` after the device has read it. Spare() may then reuse it.
  device_.Submit(0, std::move(work),
                 alive_.Guard([this, next, from, done = std::move(done)](Status status) {
                   applying_ = false;
                   if (status.ok()) parameters_ = next;
                   spoiled_ = !status.ok();
                   done(std::move(status));
                   if (idle_) idle_();
                 }));
  applying_ = true;  // Set last: if memory runs out above, `done` never comes.
}

void ServerModel::TakeSnapshot(SnapshotDone done) {
  MOTLEY_ASSERT(!applying_ && !copying_);
  if (spoiled_) {
    return done(Status::DataError(
        "after an update that failed, the optimizer's state is of no version of the parameters"));
  }
  // If somebody still holds the last snapshot, its copy stays with it.
  if (state_copy_ == nullptr || state_copy_.use_count() > 1) {
    auto fresh = OrNoMemory("a checkpoint's copy of the optimizer's state", [this] {
      return Result<std::shared_ptr<std::vector<float>>>(
          std::make_shared<std::vector<float>>(shared_->optimizer->state().size()));
    });
    if (!fresh.ok()) return done(fresh.status());
    state_copy_ = std::move(fresh).value();
  }
  auto snapshot = std::make_shared<ModelSnapshot>();
  snapshot->parameters = parameters_;
  snapshot->optimizer_state = state_copy_;
  auto work = [shared = shared_, snapshot, copy = state_copy_] {
    snapshot->optimizer_steps = shared->optimizer->steps();
    const std::span<const float> state = shared->optimizer->state();
    std::copy(state.begin(), state.end(), copy->begin());
    return Status::Ok();
  };
  device_.Submit(0, std::move(work),
                 alive_.Guard([this, snapshot, done = std::move(done)](const Status& status) {
                   copying_ = false;
                   done(status.ok() ? Result<ModelSnapshot>(*snapshot) : status);
                   if (idle_) idle_();
                 }));
  copying_ = true;
}

std::shared_ptr<JobGradient> ServerModel::gradient() const { return shared_->gradient; }

}  // namespace motley
