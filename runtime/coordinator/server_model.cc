// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/server_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "coding/kernels/combine.h"
#include "coding/schemes.h"
#include "runtime/audit/job_gradient.h"
#include "runtime/memory_need.h"
#include "runtime/survey/vector_placement.h"
#include "training/optimizers/optimizer.h"
#include "training/optimizers/optimizer_rule.h"
#include "training/trainers/trainer.h"

namespace motley {

namespace {

// Copies a vector of any size, so it must not run on the loop's thread.
Result<std::vector<float>> CopyOf(std::span<const float> values) {
  return OrNoMemory("the copy that an audit needs", [values]() -> Result<std::vector<float>> {
    return std::vector<float>(values.begin(), values.end());
  });
}

// The caller's rule for updates instead of the optimizer's; null if there is none.
const ForeignTrainer* OwnRuleOf(const JobOptions& options) {
  return options.foreign != nullptr && options.foreign->apply ? options.foreign.get() : nullptr;
}

// Copies each shard's part of the state out of, or into, the state of the whole vector: `total`
// floats, in arrays as long as the vector unless a caller's rule has them.
template <typename Copy>
void ForEachStatePart(const Route& route, size_t total, size_t count, const Copy& copy) {
  if (route.shards() == 1) return copy(0, 0, 0, total);
  const size_t arrays = total / count;
  for (size_t shard = 0; shard < route.shards(); ++shard) {
    const size_t size = route.parameters(shard);
    for (size_t array = 0; array < arrays; ++array) {
      copy(shard, array * size, array * count + route.begin(shard), size);
    }
  }
}

// Copies the shards' states into that of the whole vector. Device's thread only.
void CopyStates(const Route& route, std::span<const std::shared_ptr<Optimizer>> optimizers,
                size_t count, std::span<float> whole) {
  ForEachStatePart(route, whole.size(), count,
                   [&](size_t shard, size_t from, size_t to, size_t size) {
                     std::ranges::copy(optimizers[shard]->state().subspan(from, size),
                                       whole.begin() + static_cast<std::ptrdiff_t>(to));
                   });
}

// What a saved job goes on from, shared with it.
Result<ShardState> StartOf(const SavedJob& saved, const JobOptions& options, size_t count) {
  if (saved.parameters->size() != count) {
    return Status::Conflict(fmt::format("the checkpoint has {} parameters, the model {}",
                                        saved.parameters->size(), count));
  }
  const ForeignTrainer* own = OwnRuleOf(options);
  const size_t state =
      own != nullptr ? own->state_count : OptimizerVectors(options.optimizer.name) * count;
  if (saved.optimizer_state->size() != state) {
    return Status::InvalidArgument(
        fmt::format("the checkpoint's optimizer state: {} of {} parameters keeps {} values between "
                    "steps, not {}",
                    own != nullptr ? "the job's own rule" : options.optimizer.name, count, state,
                    saved.optimizer_state->size()));
  }
  return ShardState{saved.step, saved.parameters, saved.optimizer_steps, saved.optimizer_state};
}

}  // namespace

Status Diverged(StepId step) {
  return Status::DataError(
      fmt::format("training diverged: parameters are no longer finite after step {}; lower "
                  "`learning_rate`, or limit the gradients with `clip`",
                  step));
}

Result<std::unique_ptr<ServerModel>> ServerModel::Create(Device& device, Transport& transport,
                                                         const JobOptions& options,
                                                         const DataSource& data) {
  if (!device.host_accessible()) {
    return Status::InvalidArgument("the server's device must share the host's memory");
  }
  MOTLEY_ASSIGN_OR_RETURN(auto gradient, JobGradient::Create(options, data.shape()));
  const size_t count = gradient->parameter_count();
  MOTLEY_RETURN_IF_ERROR(
      CheckMemory("the server", count, ServerVectors(options), device.info().memory_bytes));
  MOTLEY_RETURN_IF_ERROR(Optimizer::Create(options.optimizer, 0).status());
  const std::vector<ParameterGroup>& groups = options.optimizer.groups;
  if (!groups.empty() && groups.back().end != count) {
    return Status::InvalidArgument(fmt::format(
        "the groups end at parameter {}, and the model has {}", groups.back().end, count));
  }
  ShardState start;
  std::shared_ptr<std::vector<float>> first;  // Null: it belongs to others.
  if (options.resume != nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(start, StartOf(*options.resume, options, count));
  } else if (options.first_parameters != nullptr) {
    if (options.first_parameters->size() != count) {
      return Status::InvalidArgument(fmt::format("{} first parameters for a model of {}",
                                                 options.first_parameters->size(), count));
    }
    start.parameters = options.first_parameters;
  } else {
    first = std::make_shared<std::vector<float>>(count);
    MOTLEY_RETURN_IF_ERROR(gradient->Initialize(options.seed, *first));
    start.parameters = first;
  }
  const size_t floats = VectorLength(count);
  auto model = std::unique_ptr<ServerModel>(
      new ServerModel(device, transport, options, Route(count, ShardsFor(options, floats)),
                      std::move(gradient), std::move(start)));
  if (!OthersMayHold(options, floats)) MOTLEY_RETURN_IF_ERROR(model->Keep(std::move(first)));
  return model;
}

ServerModel::ServerModel(Device& device, Transport& transport, const JobOptions& options,
                         Route route, std::shared_ptr<JobGradient> gradient, ShardState start)
    : device_(device),
      route_(std::move(route)),
      gradient_(std::move(gradient)),
      sums_([this, &parallel = device.parallel(), length = options.slice_length,
             keep_rows = !SchemeNamed(options.code).exact, wire = options.wire] {
        return std::make_shared<UpdateSum>(route_, length, parallel, keep_rows, wire);
      }),
      newest_(options.newest != nullptr ? options.newest : std::make_shared<NewestVersion>()),
      versions_(start.parameters->size(),
                MostVersions(options, start.parameters->size(), device.info().memory_bytes)),
      elsewhere_(std::move(start)) {
  newest_->Set(elsewhere_->parameters, elsewhere_->version);
  for (size_t shard = 0; shard < route_.shards(); ++shard) {
    shards_.push_back(std::make_unique<ParameterShard>(
        OptimizerOf(options), route_.begin(shard), route_.parameters(shard),
        std::make_unique<Publisher>(
            transport, route_.Parameters(options.slice_length, options.wire),
            static_cast<uint32_t>(shard),
            [this, one_each = options.sync.one_each](uint64_t& version) {
              if (one_each) version = newest_->number();
              return version == newest_->number() ? parameters() : nullptr;
            },
            options.seed)));
  }
}

// `first` is the memory of the first version; null: it belongs to others, and is copied.
Status ServerModel::Keep(std::shared_ptr<std::vector<float>> first) {
  return OrNoMemory("the server's sum and the optimizer's state", [&]() -> Status {
    for (const auto& shard : shards_) {
      MOTLEY_RETURN_IF_ERROR(shard->MakeOptimizer(gradient_->own_rule()));
    }
    if (elsewhere_->arrays != nullptr) MOTLEY_RETURN_IF_ERROR(RestoreOptimizers());
    MOTLEY_RETURN_IF_ERROR(sums_.Take().status());
    if (first == nullptr) first = std::make_shared<std::vector<float>>(*parameters());
    versions_.Begin(first);
    versions_.Reserve();
    newest_->Set(std::move(first), version());
    elsewhere_.reset();
    return Status::Ok();
  });
}

Status ServerModel::RestoreOptimizers() {
  const std::vector<float>& arrays = *elsewhere_->arrays;
  const size_t count = parameters()->size();
  std::vector<std::vector<float>> of_shards;
  for (const auto& shard : shards_) of_shards.emplace_back(shard->optimizer()->state().size());
  ForEachStatePart(route_, arrays.size(), count,
                   [&](size_t shard, size_t to, size_t from, size_t size) {
                     std::copy_n(arrays.begin() + static_cast<std::ptrdiff_t>(from), size,
                                 of_shards[shard].begin() + static_cast<std::ptrdiff_t>(to));
                   });
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    MOTLEY_RETURN_IF_ERROR(
        shards_[shard]->optimizer()->Restore(elsewhere_->optimizer_steps, of_shards[shard]));
  }
  return Status::Ok();
}

// The work of a commit on the device's thread. It shares all that it uses.
struct ServerModel::Work {
  Device& device;
  Route route;
  std::vector<std::shared_ptr<Optimizer>> optimizers;
  Summed sum;
  ParameterCopy from;
  std::shared_ptr<std::vector<float>> next;
  Contribution contribution;

  // True: all new values are finite.
  Result<bool> Apply() {
    const std::span<float> sums = sum.values->values().first(next->size());
    // A shard alone does not know the norm of the whole.
    if (route.shards() > 1 && optimizers.front()->needs_norm() && contribution.weight > 0) {
      contribution.norm = std::sqrt(SumOfSquares(sums)) / contribution.weight;
    }
    bool finite = true;
    for (size_t shard = 0; shard < route.shards(); ++shard) {
      const auto part = [&, begin = route.begin(shard)](auto values) {
        return std::span(values).subspan(begin, route.parameters(shard));
      };
      if (sum.computed_with != nullptr) {
        contribution.computed_with = part(std::span(*sum.computed_with));
      }
      MOTLEY_ASSIGN_OR_RETURN(const bool fine,
                              optimizers[shard]->Advance(device, part(sums), part(std::span(*from)),
                                                         part(std::span(*next)), contribution));
      finite &= fine;
    }
    return finite;
  }
};

void ServerModel::Commit(StepId step, Summed sum, const Contribution& from,
                         std::shared_ptr<DecodedCopy> copy, Done done) {
  MOTLEY_ASSERT(!applying_);
  auto spare = versions_.Spare();
  if (!spare.ok()) return done(spare.status());
  const std::shared_ptr<std::vector<float>> next = std::move(spare).value();
  const auto update = std::make_shared<Work>(
      Work{device_, route_, Optimizers(), std::move(sum), parameters(), next, from});
  auto work = [update, step, copy] {
    if (copy != nullptr) *copy = CopyOf(update->sum.values->values().first(update->next->size()));
    MOTLEY_ASSIGN_OR_RETURN(const bool finite, update->Apply());
    return finite ? Status::Ok() : Diverged(step);
  };
  // This thread releases `from` and `computed_with` after the device has read it. The pool may then
  // reuse it.
  device_.Submit(0, std::move(work),
                 alive_.Guard([this, next, update, done = std::move(done)](Status status) {
                   applying_ = false;
                   if (status.ok()) newest_->Set(next, version() + 1);
                   update->sum = {};  // The next update may take it.
                   // The caller's own rule did not begin.
                   spoiled_ = !status.ok() && status.code() != StatusCode::kCancelled;
                   done(std::move(status));
                   if (idle_) idle_();
                 }));
  applying_ = true;  // Set last: if memory runs out above, `done` never comes.
}

std::vector<std::shared_ptr<Optimizer>> ServerModel::Optimizers() const {
  std::vector<std::shared_ptr<Optimizer>> all;
  for (const auto& shard : shards_) all.push_back(shard->optimizer());
  return all;
}

void ServerModel::TakeSnapshot(SnapshotDone done) {
  MOTLEY_ASSERT(!applying_ && !copying_);
  if (spoiled_) {
    return done(Status::DataError(
        "after an update that failed, the optimizer's state is of no version of the parameters"));
  }
  if (elsewhere_) {
    ModelSnapshot snapshot;
    snapshot.parameters = elsewhere_->parameters;
    snapshot.optimizer_steps = elsewhere_->optimizer_steps;
    snapshot.optimizer_state = elsewhere_->arrays;
    return done(std::move(snapshot));
  }
  // If somebody still holds the last snapshot, its copy stays with it.
  if (state_copy_ == nullptr || state_copy_.use_count() > 1) {
    auto fresh = OrNoMemory("a checkpoint's copy of the optimizer's state", [this] {
      return Result<std::shared_ptr<std::vector<float>>>(
          std::make_shared<std::vector<float>>(StateSize()));
    });
    if (!fresh.ok()) return done(fresh.status());
    state_copy_ = std::move(fresh).value();
  }
  auto snapshot = std::make_shared<ModelSnapshot>();
  snapshot->parameters = parameters();
  snapshot->optimizer_state = state_copy_;
  auto work = [route = route_, optimizers = Optimizers(), snapshot, copy = state_copy_] {
    snapshot->optimizer_steps = optimizers.front()->steps();
    CopyStates(route, optimizers, snapshot->parameters->size(), *copy);
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

void ServerModel::Show(std::function<Status(const ShownVersion&)> show, std::vector<double> losses,
                       Done done) {
  MOTLEY_ASSERT(!applying_);
  auto shown = std::make_shared<ModelSnapshot>();
  shown->parameters = parameters();
  shown->optimizer_steps = version();
  if (elsewhere_) shown->optimizer_state = elsewhere_->arrays;
  auto work = [show = std::move(show), losses = std::move(losses), shown, route = route_,
               optimizers = Optimizers(), size = StateSize()]() mutable -> Status {
    return OrNoMemory("a copy of the optimizer's state", [&]() -> Status {
      std::vector<float> state(size);
      if (shown->optimizer_state != nullptr) {
        state = *shown->optimizer_state;
      } else {
        CopyStates(route, optimizers, shown->parameters->size(), state);
      }
      return show({shown->optimizer_steps, *shown->parameters, state, losses});
    });
  };
  // This thread releases the version.
  device_.Submit(
      0, std::move(work),
      alive_.Guard([shown, done = std::move(done)](const Status& status) { done(status); }));
}

void ServerModel::Read(ShardState state) {
  newest_->Set(state.parameters, state.version);
  elsewhere_ = std::move(state);
}

void ServerModel::Forget() {
  newest_->Set(std::make_shared<const std::vector<float>>(), version());
  elsewhere_.reset();
}

size_t ServerModel::StateSize() const {
  size_t size = 0;
  for (const auto& shard : shards_) {
    if (shard->optimizer() != nullptr) size += shard->optimizer()->state().size();
  }
  return size;
}

}  // namespace motley
