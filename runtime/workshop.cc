// SPDX-License-Identifier: Apache-2.0
#include "runtime/workshop.h"

#include <fmt/format.h>

#include <numeric>

#include "runtime/memory_need.h"
#include "transport/header.h"

namespace motley {

Result<std::shared_ptr<Workshop>> MakeWorkshop(Loop& loop, Device& device,
                                               const wire::AcceptT& accept) {
  const auto& sizes = accept.partition_sizes;
  const uint64_t samples = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  const uint32_t slice = accept.slice_length;
  if (samples == 0 || accept.batch == 0 || accept.features == 0 || slice < 2 || slice % 2 != 0 ||
      slice > kMaxBulkBytes / sizeof(float)) {
    return Status::DataError(fmt::format(
        "the server's welcome makes no sense: {} samples, batches of {}, {} features, slices of {}",
        samples, accept.batch, accept.features, slice));
  }
  auto model = Model::Create(ModelSpec{accept.model, accept.features, accept.classes});
  if (!model.ok()) {
    return Status::Conflict(
        fmt::format("this release cannot train the job's model: {}", model.status().ToString()));
  }
  MOTLEY_RETURN_IF_ERROR(CheckMemory("the worker", (*model)->parameter_count(), WorkerVectors(),
                                     device.info().memory_bytes));
  auto shop = std::shared_ptr<Workshop>(new Workshop{
      std::move(model).value(), {}, BatchSchedule(accept.seed, sizes, accept.batch), nullptr});
  shop->trainer = MakeModelTrainer(loop, device, *shop->model, shop->store, shop->schedule);
  return shop;
}

}  // namespace motley
