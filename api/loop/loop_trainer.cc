// SPDX-License-Identifier: Apache-2.0
#include "api/loop/loop_trainer.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "api/loop/work_view.h"
#include "api/versioned.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

constexpr uint32_t kFlags = MOTLEY_LOOP_INITIALIZE | MOTLEY_LOOP_APPLY | MOTLEY_LOOP_SHOW;

// Offers work that only a stop of the job makes superfluous.
Status Offer(const LoopDoor& door, const motley_step& step, const char* kind) {
  MOTLEY_ASSIGN_OR_RETURN(
      const motley_status returned,
      door.exchange.Offer({.step = step, .unwanted = door.stopped, .progress = {}, .ready = {}}));
  if (returned == MOTLEY_OK) return Status::Ok();
  if (returned == MOTLEY_CANCELLED) return Status::Cancelled("handed back before it was begun");
  return Status::Callback(
      fmt::format("the loop handed the step {} back with status {}", kind, returned));
}

Status Gradient(const LoopDoor& door, const WeightedWork& work) {
  motley_step step{};
  step.kind = MOTLEY_STEP_GRADIENT;
  const WeightedView view(work, step);
  MOTLEY_ASSIGN_OR_RETURN(
      const motley_status returned,
      door.exchange.Offer({.step = step,
                           .unwanted = [&cancelled = work.cancelled] { return cancelled.load(); },
                           .progress = work.progress,
                           .ready = work.ready}));
  if (returned == MOTLEY_OK) return Status::Ok();
  if (returned == MOTLEY_CANCELLED) return Status::Cancelled("handed back unfinished");
  return Status::Callback(
      fmt::format("the loop handed the step GRADIENT back with status {}", returned));
}

Status Initialize(const LoopDoor& door, uint64_t seed, std::span<float> parameters) {
  motley_step step{};
  step.kind = MOTLEY_STEP_INITIALIZE;
  step.seed = seed;
  step.parameter_count = parameters.size();
  step.new_parameters = parameters.data();
  return Offer(door, step, "INITIALIZE");
}

Status Apply(const LoopDoor& door, const RuleUpdate& by, uint64_t state_count) {
  motley_step step{};
  step.kind = MOTLEY_STEP_APPLY;
  step.step = step.version = by.steps - 1;
  step.parameter_count = by.count;
  step.gradient = by.gradient;
  step.new_parameters = by.parameters;
  step.state = by.state;
  step.state_count = state_count;
  step.learning_rate = by.rate;
  step.batch_weight = by.weight;
  step.batch_loss = door.batch_loss();
  return Offer(door, step, "APPLY");
}

Status Show(const LoopDoor& door, const ShownVersion& shown) {
  motley_step step{};
  step.kind = MOTLEY_STEP_SHOW;
  step.step = shown.version - shown.losses.size();
  step.version = shown.version;
  step.parameter_count = shown.parameters.size();
  step.parameters = shown.parameters.data();
  step.losses = shown.losses.data();
  step.state = shown.state.data();
  step.state_count = shown.state.size();
  return Offer(door, step, "SHOW");
}

}  // namespace

Result<std::shared_ptr<const ForeignTrainer>> MakeLoopTrainer(const motley_loop& loop, bool serves,
                                                              bool computes, LoopDoor door) {
  MOTLEY_ASSIGN_OR_RETURN(
      const motley_loop given,
      ReadVersioned(&loop, motley_loop MOTLEY_LOOP_INIT, "motley_loop", "MOTLEY_LOOP_INIT"));
  if ((given.flags & ~kFlags) != 0) {
    return Status::InvalidArgument(
        fmt::format("motley_loop: flags {:#x} has flags that this release does not know; {:#x} "
                    "are possible",
                    given.flags, kFlags));
  }
  if (given.state_count > 0 && (given.flags & MOTLEY_LOOP_APPLY) == 0) {
    return Status::InvalidArgument(
        "motley_loop: state_count is the state of MOTLEY_LOOP_APPLY, which is not among the flags");
  }
  auto foreign = std::make_shared<ForeignTrainer>();
  foreign->parameter_count = given.parameter_count;
  if (computes) {
    foreign->accumulate_weighted = [door](const WeightedWork& work) {
      return Gradient(door, work);
    };
  }
  if (serves && (given.flags & MOTLEY_LOOP_INITIALIZE) != 0) {
    foreign->initialize = [door](uint64_t seed, std::span<float> parameters) {
      return Initialize(door, seed, parameters);
    };
  }
  if (serves && (given.flags & MOTLEY_LOOP_APPLY) != 0) {
    foreign->state_count = given.state_count;
    foreign->apply = [door, count = given.state_count](const RuleUpdate& by) {
      return Apply(door, by, count);
    };
  }
  if (serves && (given.flags & MOTLEY_LOOP_SHOW) != 0) {
    foreign->show = [door](const ShownVersion& shown) { return Show(door, shown); };
  }
  MOTLEY_RETURN_IF_ERROR(CheckForeign(*foreign).WithContext("motley_loop"));
  return std::shared_ptr<const ForeignTrainer>(std::move(foreign));
}

Status OfferResumed(const LoopDoor& door, const SavedJob& saved, bool with_state) {
  std::vector<float> parameters = *saved.parameters;
  std::vector<float> state;
  if (with_state) state = *saved.optimizer_state;
  motley_step step{};
  step.kind = MOTLEY_STEP_INITIALIZE;
  step.step = step.version = saved.step;
  step.seed = saved.seed;
  step.parameter_count = parameters.size();
  step.new_parameters = parameters.data();
  if (with_state) {
    step.state = state.data();
    step.state_count = state.size();
  }
  return Offer(door, step, "INITIALIZE");
}

}  // namespace motley
