// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/workshop.h"

#include <fmt/format.h>

#include <iterator>
#include <numeric>

#include "base/text.h"
#include "data/raw_samples.h"
#include "devices/host_device.h"
#include "runtime/memory_need.h"
#include "training/optimizers/optimizer_rule.h"
#include "training/trainers/local_trainer.h"
#include "training/trainers/shared_trainer.h"
#include "transport/wire/header.h"

namespace motley {
namespace {

constexpr size_t kMaxModelName = 256;

Status CheckWelcome(const wire::AcceptT& accept) {
  const auto& sizes = accept.partition_sizes;
  const uint64_t samples = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  const uint32_t slice = accept.slice_length;
  // Errors and notices repeat the name, and a stranger must not control a terminal.
  if (CleanText(accept.model, kMaxModelName) != accept.model) {
    return Status::DataError(
        "the server's welcome names a model with signs that no model's name has");
  }
  const bool has_samples =
      samples > 0 && samples <= kMaxRows && (accept.features > 0 || accept.foreign);
  if (has_samples && accept.turns > 0 && accept.batch >= accept.turns && slice >= 2 &&
      slice % 2 == 0 && slice <= kMaxBulkBytes / sizeof(float)) {
    return Status::Ok();
  }
  return Status::DataError(fmt::format(
      "the server's welcome makes no sense: {} samples, batches of {} for {} steps, {} features, "
      "slices of {}",
      samples, accept.batch, accept.turns, accept.features, slice));
}

// Checks that server and worker mean the same gradient.
Status CheckTrainer(const wire::AcceptT& accept, const ForeignTrainer* foreign) {
  if (accept.foreign && foreign == nullptr) {
    return Status::Conflict(
        fmt::format("the job has a trainer of its own, with {} parameters, and this worker has "
                    "none: start the program that brings it",
                    accept.parameter_count));
  }
  if (!accept.foreign && foreign != nullptr) {
    return Status::Conflict(
        fmt::format("the job trains the built-in model {}, and this worker has a trainer of its "
                    "own: start it without one, or give the server the same",
                    accept.model));
  }
  if (foreign != nullptr && foreign->parameter_count != accept.parameter_count) {
    return Status::Conflict(
        fmt::format("the job's trainer has {} parameters and this worker's {}: start the same "
                    "program on both",
                    accept.parameter_count, foreign->parameter_count));
  }
  return Status::Ok();
}

std::unique_ptr<Trainer> MakeTrainer(Loop& loop, Device& device, const wire::AcceptT& accept,
                                     const Workshop& shop,
                                     std::shared_ptr<const ForeignTrainer> foreign,
                                     DeviceLost lost) {
  if (foreign == nullptr && (!device.parts().empty() || !device.host_accessible())) {
    return MakeSharedTrainer(loop, device, *shop.model, shop.store, shop.schedule, std::move(lost));
  }
  if (foreign == nullptr) {
    return MakeModelTrainer(loop, device, *shop.model, shop.store, shop.schedule);
  }
  if (foreign->make) return foreign->make(loop, device, shop.store, shop.schedule);
  return MakeCallbackTrainer(loop, device, std::move(foreign),
                             {accept.features, accept.classes, accept.job}, shop.store,
                             shop.schedule);
}

// Lets the worker take steps of its own with the gradients of `trainer`.
Result<std::unique_ptr<Trainer>> TakeLocalSteps(Loop& loop, Device& device,
                                                const wire::AcceptT& accept,
                                                std::unique_ptr<Trainer> trainer,
                                                OwnMemory memory) {
  const wire::LocalStepsT& own = *accept.local;
  if (!device.host_accessible()) {
    return Status::Conflict(
        fmt::format("the workers of this job update parameters themselves, and {} does not share "
                    "the host's memory",
                    device.info().name));
  }
  if (own.batch == 0) return Status::DataError("the server's welcome has local steps of no sample");
  OptimizerOptions by;
  by.name = own.optimizer;
  by.learning_rate = own.learning_rate;
  by.l2 = own.l2;
  by.momentum = own.momentum;
  by.beta1 = own.beta1;
  by.beta2 = own.beta2;
  by.epsilon = own.epsilon;
  by.weight_decay = own.weight_decay;
  by.clip = own.clip;
  by.schedule = own.schedule;
  auto made = MakeLocalTrainer(loop, device, std::move(trainer), {own.batch, by, own.ahead},
                               accept.steps, std::move(memory));
  const bool fits = made.code() != StatusCode::kResource && made.code() != StatusCode::kCallback;
  if (made.ok() || !fits) return made;
  return Status::DataError(fmt::format(
      "the server's welcome has local steps that cannot be taken: {}", made.status().ToString()));
}

// The vectors of these steps: parameters, a gradient, the optimizer's state twice, and the
// parameters before steps that are taken ahead.
uint64_t LocalVectors(const wire::AcceptT& accept) {
  if (accept.local == nullptr) return 0;
  return 2 + 2 * OptimizerVectors(accept.local->optimizer) + (accept.local->ahead > 0 ? 1 : 0);
}

}  // namespace

Result<WireFormat> WireOf(const wire::AcceptT& accept) {
  if (accept.wire < std::size(kWireFormats)) return kWireFormats[accept.wire];
  return Status::DataError(fmt::format("the server sends vectors in format {}", accept.wire));
}

Result<std::shared_ptr<Workshop>> MakeWorkshop(Loop& loop, Device& device,
                                               const wire::AcceptT& accept,
                                               std::shared_ptr<const ForeignTrainer> foreign,
                                               DeviceLost lost, Device* updates) {
  MOTLEY_RETURN_IF_ERROR(CheckWelcome(accept));
  MOTLEY_RETURN_IF_ERROR(CheckTrainer(accept, foreign.get()));
  MOTLEY_ASSIGN_OR_RETURN(const WireFormat wire, WireOf(accept));
  std::unique_ptr<Model> model;
  if (foreign == nullptr) {
    auto made = Model::Create({.name = accept.model,
                               .features = accept.features,
                               .classes = accept.classes,
                               .class_weights = accept.class_weights,
                               .dropout = accept.dropout});
    if (!made.ok()) {
      return Status::Conflict(
          fmt::format("this release cannot train the job's model: {}", made.status().ToString()));
    }
    model = std::move(made).value();
  }
  MOTLEY_RETURN_IF_ERROR(CheckMemory(
      "the worker", foreign ? foreign->parameter_count : model->parameter_count(),
      WorkerVectors(wire) + LocalVectors(accept) + device.parts().size(), HostMemoryOf(device)));
  if (model != nullptr) {
    MOTLEY_RETURN_IF_ERROR(CheckDevice(device, *model));
    for (const Device* part : device.parts()) {
      MOTLEY_RETURN_IF_ERROR(CheckDevice(*part, *model));
    }
  }
  auto shop = std::shared_ptr<Workshop>(
      new Workshop{{accept.shard_ends.begin(), accept.shard_ends.end()},
                   std::move(model),
                   {},
                   BatchSchedule(accept.seed, accept.partition_sizes, accept.batch, accept.turns),
                   nullptr});
  if (foreign != nullptr) shop->memory = foreign->memory;
  shop->trainer = MakeTrainer(loop, device, accept, *shop, std::move(foreign), std::move(lost));
  if (accept.local != nullptr) {
    Device& host = device.host_accessible() || updates == nullptr ? device : *updates;
    MOTLEY_ASSIGN_OR_RETURN(
        shop->trainer, TakeLocalSteps(loop, host, accept, std::move(shop->trainer), shop->memory));
  }
  return shop;
}

}  // namespace motley
