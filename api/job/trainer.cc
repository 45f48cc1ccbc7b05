// SPDX-License-Identifier: Apache-2.0
#include "api/job/trainer.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "api/entry.h"
#include "api/loop/work_view.h"
#include "api/versioned.h"
#include "training/optimizers/optimizer_rule.h"

struct motley_work_state {
  const std::atomic<bool>& cancelled;
  const std::function<void(uint64_t)>& progress;
  const std::function<void(size_t, size_t)>& ready;
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

Status Accumulate(const motley_trainer& trainer, const ForeignWork& from) {
  motley_batch batch{};
  motley_work_state state{from.cancelled, from.progress, from.ready};
  motley_work work{};
  work.struct_size = sizeof(motley_work);
  ShowWork(from, batch, work);
  work.first_partition = from.begin;
  work.end_partition = from.end;
  work.coefficient = from.coefficient;
  work.sum = from.sum.data();
  work.loss = from.loss;
  work.state = &state;
  work.weight = from.weight;
  return Call("accumulate", &from.cancelled,
              [&] { return trainer.accumulate(trainer.context, &work); });
}

Status AccumulateWeighted(const motley_trainer& trainer, const WeightedWork& from) {
  motley_work_state state{from.cancelled, from.progress, from.ready};
  motley_weighted_work work{};
  work.struct_size = sizeof(motley_weighted_work);
  const WeightedView view(from, work);
  work.state = &state;
  return Call("accumulate_weighted", &from.cancelled,
              [&] { return trainer.accumulate_weighted(trainer.context, &work); });
}

Status Apply(const motley_trainer& trainer, const RuleUpdate& by, double batch_loss) {
  motley_update update{};
  update.struct_size = sizeof(motley_update);
  update.step = by.steps - 1;
  update.gradient = by.gradient;
  update.parameters = by.parameters;
  update.parameter_count = by.count;
  update.state = by.state;
  update.state_count = trainer.state_count;
  update.learning_rate = by.rate;
  update.batch_weight = by.weight;
  update.batch_loss = batch_loss;
  return Call("apply", nullptr, [&] { return trainer.apply(trainer.context, &update); });
}

// What only a server calls.
void AddServing(const motley_trainer& given, const std::function<double()>& batch_loss,
                ForeignTrainer& foreign) {
  if (given.initialize != nullptr) {
    foreign.initialize = [given](uint64_t seed, std::span<float> parameters) {
      return Call("initialize", nullptr, [&] {
        return given.initialize(given.context, seed, parameters.data(), parameters.size());
      });
    };
  }
  if (given.apply != nullptr) {
    foreign.apply = [given, batch_loss](const RuleUpdate& by) {
      return Apply(given, by, batch_loss());
    };
    foreign.state_count = given.state_count;
  }
  if (given.evaluate != nullptr) {
    foreign.evaluate = [given](uint64_t version, std::span<const float> parameters, double& loss) {
      return Call("evaluate", nullptr, [&] {
        return given.evaluate(given.context, version, parameters.data(), parameters.size(), &loss);
      });
    };
  }
}

// What only a worker calls, beside its gradient.
void AddHolding(const motley_trainer& given, ForeignTrainer& foreign) {
  if (given.hold == nullptr) return;
  foreign.hold = [given](PartitionId partition, uint64_t first, uint64_t count) {
    return Call("hold", nullptr,
                [&] { return given.hold(given.context, partition, first, count); });
  };
  if (given.drop == nullptr) return;
  foreign.drop = [given](PartitionId partition, uint64_t first, uint64_t count) {
    const Status ignored = Call("drop", nullptr, [&] {
      given.drop(given.context, partition, first, count);
      return motley_status{MOTLEY_OK};
    });
  };
}

void Release(const motley_trainer& trainer, void* memory, uint64_t bytes) {
  const Status ignored = Call("release", nullptr, [&] {
    trainer.release(trainer.context, memory, bytes);
    return motley_status{MOTLEY_OK};
  });
}

Result<void*> Allocate(const motley_trainer& trainer, uint64_t bytes) {
  void* memory = nullptr;
  MOTLEY_RETURN_IF_ERROR(Call("allocate", nullptr, [&] {
    memory = trainer.allocate(trainer.context, bytes);
    return motley_status{MOTLEY_OK};
  }));
  if (memory == nullptr) {
    return Status::Resource(fmt::format(
        "the trainer's allocate returned NULL for {} bytes. Take a smaller model, raise "
        "the limit of such memory (of locked memory: ulimit -l), or let allocate return "
        "usual memory instead",
        bytes));
  }
  if (reinterpret_cast<uintptr_t>(memory) % VectorMemory::kAlignment == 0) return memory;
  Release(trainer, memory, bytes);
  return Status::Callback(
      fmt::format("the trainer's allocate returned {} bytes at {}, which is no multiple of {}: "
                  "aligned_alloc({}, bytes) would do",
                  bytes, memory, VectorMemory::kAlignment, VectorMemory::kAlignment));
}

OwnMemory MemoryOf(const motley_trainer& given) {
  if (given.allocate == nullptr) return nullptr;
  auto memory = std::make_shared<VectorMemory>();
  memory->allocate = [given](size_t bytes) { return Allocate(given, bytes); };
  memory->release = [given](void* vector, size_t bytes) { Release(given, vector, bytes); };
  return memory;
}

Status CheckTrainer(const motley_trainer& given, bool computes) {
  if ((given.flags & ~uint32_t{MOTLEY_WHOLE_ROWS}) != 0) {
    return Status::InvalidArgument(
        fmt::format("motley_trainer: flags {:#x} has flags that this release does not know. Begin "
                    "with MOTLEY_TRAINER_INIT",
                    given.flags));
  }
  if (computes && given.accumulate == nullptr && given.accumulate_weighted == nullptr) {
    return Status::InvalidArgument(
        "motley_trainer: accumulate is NULL, but workers need it to compute gradients");
  }
  if ((given.allocate == nullptr) != (given.release == nullptr)) {
    const bool allocates = given.allocate != nullptr;
    return Status::InvalidArgument(
        fmt::format("motley_trainer: {} is set and {} is NULL: memory of your own needs both",
                    allocates ? "allocate" : "release", allocates ? "release" : "allocate"));
  }
  if (given.drop != nullptr && given.hold == nullptr) {
    return Status::InvalidArgument(
        "motley_trainer: drop ends what hold began, and hold is NULL: set it, too");
  }
  if (given.apply != nullptr || given.state_count == 0) return Status::Ok();
  return Status::InvalidArgument(
      "motley_trainer: state_count is the state of apply, which is NULL");
}

}  // namespace

Result<std::shared_ptr<const ForeignTrainer>> MakeForeign(const motley_trainer& trainer,
                                                          bool computes,
                                                          std::function<double()> batch_loss) {
  MOTLEY_ASSIGN_OR_RETURN(const motley_trainer given,
                          ReadVersioned(&trainer, motley_trainer MOTLEY_TRAINER_INIT,
                                        "motley_trainer", "MOTLEY_TRAINER_INIT"));
  MOTLEY_RETURN_IF_ERROR(CheckTrainer(given, computes));
  auto foreign = std::make_shared<ForeignTrainer>();
  foreign->parameter_count = given.parameter_count;
  if (given.accumulate != nullptr) {
    foreign->accumulate = [given](const ForeignWork& work) { return Accumulate(given, work); };
  }
  if (given.accumulate_weighted != nullptr) {
    foreign->accumulate_weighted = [given](const WeightedWork& work) {
      return AccumulateWeighted(given, work);
    };
  }
  foreign->whole_rows = (given.flags & MOTLEY_WHOLE_ROWS) != 0;
  AddServing(given, batch_loss, *foreign);
  AddHolding(given, *foreign);
  foreign->memory = MemoryOf(given);
  MOTLEY_RETURN_IF_ERROR(CheckForeign(*foreign).WithContext("motley_trainer"));
  return std::shared_ptr<const ForeignTrainer>(std::move(foreign));
}

}  // namespace motley

namespace {

int IsCancelled(const motley_work_state* state) {
  return state != nullptr && state->cancelled ? 1 : 0;
}

void Progress(const motley_work_state* state, uint64_t samples_done) {
  if (state == nullptr) return;
  try {
    if (state->progress) state->progress(samples_done);
  } catch (...) {
    // The caller may be C, or not expect an exception. The next samples report progress again.
  }
}

template <typename Work>
motley_status Ready(const char* function, const Work* work, uint64_t begin, uint64_t end) {
  return motley::Enter([&]() -> motley::Status {
    MOTLEY_RETURN_IF_ERROR(motley::CheckNotNull(function, "work", work));
    MOTLEY_RETURN_IF_ERROR(
        motley::CheckRange(begin, end, work->parameter_count).WithContext(function));
    if (work->state != nullptr) work->state->ready(begin, end);
    return motley::Status::Ok();
  });
}

}  // namespace

motley_status motley_work_ready(const motley_work* work, uint64_t begin, uint64_t end) {
  return Ready("motley_work_ready", work, begin, end);
}

motley_status motley_weighted_ready(const motley_weighted_work* work, uint64_t begin,
                                    uint64_t end) {
  return Ready("motley_weighted_ready", work, begin, end);
}

int motley_work_cancelled(const motley_work* work) {
  return work == nullptr ? 0 : IsCancelled(work->state);
}

void motley_work_progress(const motley_work* work, uint64_t samples_done) {
  if (work != nullptr) Progress(work->state, samples_done);
}

int motley_weighted_cancelled(const motley_weighted_work* work) {
  return work == nullptr ? 0 : IsCancelled(work->state);
}

void motley_weighted_progress(const motley_weighted_work* work, uint64_t samples_done) {
  if (work != nullptr) Progress(work->state, samples_done);
}
