// SPDX-License-Identifier: Apache-2.0
#include "api/job/trainer.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>

#include "api/versioned.h"

struct motley_work_state {
  const motley::ForeignWork& work;
};

namespace motley {
namespace {

// Calls a callback of the program. Callbacks must not throw; an exception becomes an error here. If
// `cancelled` (may be null) is set, the result is no longer needed.
template <typename Function>
Status Call(const char* callback, const std::atomic<bool>* cancelled, const Function& function) {
  try {
    const motley_status returned = function();
    if (returned == MOTLEY_OK) return Status::Ok();
    const bool unwanted = cancelled != nullptr && *cancelled;
    if (returned == MOTLEY_CANCELLED && unwanted) return Status::Cancelled("no longer needed");
    return Status::Callback(fmt::format("the trainer's {} returned {}", callback, returned));
  } catch (const std::exception& error) {
    return Status::Callback(
        fmt::format("the trainer's {} threw an exception: {}", callback, error.what()));
  } catch (...) {
    return Status::Callback(fmt::format("the trainer's {} threw an exception", callback));
  }
}

motley_batch BatchOf(const Dataset& data) {
  motley_batch batch{};
  batch.struct_size = sizeof(motley_batch);
  batch.columns_count = data.features;
  batch.rows = data.rows();
  batch.features = data.sparse ? data.value.data() : data.dense.data();
  batch.row_begin = data.sparse ? data.row_begin.data() : nullptr;
  batch.columns = data.sparse ? data.column.data() : nullptr;
  batch.labels = data.label.data();
  return batch;
}

Status Accumulate(const motley_trainer& trainer, const ForeignWork& from) {
  const motley_batch batch = from.batch != nullptr ? BatchOf(*from.batch) : motley_batch{};
  motley_work_state state{from};
  motley_work work{};
  work.struct_size = sizeof(motley_work);
  work.first_partition = from.begin;
  work.end_partition = from.end;
  work.step = from.step;
  work.version = from.version;
  work.parameters = from.parameters.data();
  work.parameter_count = from.parameters.size();
  work.samples = from.samples.data();
  work.sample_count = from.samples.size();
  work.batch = from.batch != nullptr ? &batch : nullptr;
  work.coefficient = from.coefficient;
  work.sum = from.sum.data();
  work.loss = from.loss;
  work.state = &state;
  work.weight = from.weight;
  return Call("accumulate", &from.cancelled,
              [&] { return trainer.accumulate(trainer.context, &work); });
}

}  // namespace

Result<std::shared_ptr<const ForeignTrainer>> MakeForeign(const motley_trainer& trainer,
                                                          bool computes) {
  MOTLEY_ASSIGN_OR_RETURN(const motley_trainer given,
                          ReadVersioned(&trainer, motley_trainer MOTLEY_TRAINER_INIT,
                                        "motley_trainer", "MOTLEY_TRAINER_INIT"));
  if (given.reserved != 0) {
    return Status::InvalidArgument(
        "motley_trainer: reserved must be 0. Begin with MOTLEY_TRAINER_INIT");
  }
  if (computes && given.accumulate == nullptr) {
    return Status::InvalidArgument(
        "motley_trainer: accumulate is NULL, but workers need it to compute gradients");
  }
  auto foreign = std::make_shared<ForeignTrainer>();
  foreign->parameter_count = given.parameter_count;
  if (given.accumulate != nullptr) {
    foreign->accumulate = [given](const ForeignWork& work) { return Accumulate(given, work); };
  }
  if (given.initialize != nullptr) {
    foreign->initialize = [given](uint64_t seed, std::span<float> parameters) {
      return Call("initialize", nullptr, [&] {
        return given.initialize(given.context, seed, parameters.data(), parameters.size());
      });
    };
  }
  if (given.hold != nullptr) {
    foreign->hold = [given](PartitionId partition, uint64_t first, uint64_t count) {
      return Call("hold", nullptr,
                  [&] { return given.hold(given.context, partition, first, count); });
    };
  }
  MOTLEY_RETURN_IF_ERROR(CheckForeign(*foreign).WithContext("motley_trainer"));
  return std::shared_ptr<const ForeignTrainer>(std::move(foreign));
}

}  // namespace motley

int motley_work_cancelled(const motley_work* work) {
  if (work == nullptr || work->state == nullptr) return 0;
  return work->state->work.cancelled ? 1 : 0;
}

void motley_work_progress(const motley_work* work, uint64_t samples_done) {
  if (work == nullptr || work->state == nullptr) return;
  const auto& progress = work->state->work.progress;
  try {
    if (progress) progress(samples_done);
  } catch (...) {
    // The caller may be C, or not expect an exception. The next samples report progress again.
  }
}
