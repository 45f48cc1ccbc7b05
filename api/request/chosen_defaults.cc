// SPDX-License-Identifier: Apache-2.0
#include "api/request/chosen_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/counted.h"
#include "training/models/architecture.h"
#include "training/optimizers/adam_rule.h"
#include "training/optimizers/momentum_rule.h"
#include "training/optimizers/optimizer_rule.h"
#include "training/optimizers/sgd_rule.h"

namespace motley {
namespace {

// A job of open length computes at most this many samples, but at least kLeastEpochs and at most
// kMostEpochs epochs. On most data it ends long before.
constexpr double kMostSamples = 2e7;
constexpr double kLeastEpochs = 20, kMostEpochs = 300;
constexpr uint64_t kLeastSteps = 2000;
constexpr uint32_t kPatience = 10;
constexpr uint32_t kLeastBatch = 16, kMostBatch = 256;
constexpr uint64_t kBatches = 32;  // Minimum per epoch, if batches can be small enough.
// A network may memorize its training samples. Its progress is therefore judged on other samples,
// if enough can be held out.
constexpr uint64_t kLeastToHoldOut = 1000;
constexpr double kHeldOut = 0.1;
// Otherwise its weights are kept small.
constexpr double kL2WithoutValidation = 0.01;
constexpr double kMostHeldOut = 10'000;  // More samples would not make judgements better.

bool IsNetwork(std::string_view model) {
  const std::string_view word = WordOf(model);
  return word == "mlp" || word == "cnn" || word == "factorization";
}

uint32_t BatchFor(uint64_t rows) {
  const uint64_t wanted = std::bit_floor(std::max<uint64_t>(rows / kBatches, 1));
  return static_cast<uint32_t>(std::clamp<uint64_t>(wanted, kLeastBatch, kMostBatch));
}

uint32_t EpochsFor(uint64_t rows, uint32_t batch) {
  const auto samples = static_cast<double>(std::max<uint64_t>(rows, 1));
  const double epochs = std::clamp(kMostSamples / samples, kLeastEpochs, kMostEpochs);
  const uint64_t steps_per_epoch = std::max<uint64_t>(1, rows / batch);
  return static_cast<uint32_t>(
      std::max<uint64_t>(static_cast<uint64_t>(epochs), kLeastSteps / steps_per_epoch));
}

double RateFor(const OptimizerRule& rule, std::string_view model) {
  if (WordOf(model) == "factorization") return rule.rates.factorization;
  return IsNetwork(model) ? rule.rates.network : rule.rates.one_layer;
}

double HeldOutOf(uint64_t rows) {
  return std::min(kHeldOut, kMostHeldOut / static_cast<double>(std::max<uint64_t>(rows, 1)));
}

// The judging options that were given, and the defaults of a job of open length.
Result<JudgingPlan> PlanJudging(const JobRequest& request) {
  JudgingPlan plan;
  if (request.patience > 0) plan.patience = static_cast<uint32_t>(request.patience);
  if (request.open.steps && request.patience == 0) plan.patience = kPatience;
  if (!request.evaluate_every.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const StepInterval every, ParseInterval(request.evaluate_every));
    plan.every = every.steps;
    plan.every_epochs = every.epochs;
  } else if (plan.patience > 0 || request.validation > 0 ||
             request.optimizer.schedule.starts_with("plateau")) {
    plan.every_epochs = 1;
  }
  return plan;
}

bool Judges(const JudgingPlan& plan) { return plan.every > 0 || plan.every_epochs > 0; }

}  // namespace

Result<StepInterval> ParseInterval(std::string_view text) {
  StepInterval interval;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, interval.steps);
  const std::string_view unit(stop, static_cast<size_t>(end - stop));
  const bool epochs = unit == "epoch" || unit == "epochs";
  constexpr uint64_t kMost = uint64_t{1} << 30;
  if (error != std::errc() || interval.steps == 0 || interval.steps > kMost ||
      (!unit.empty() && !epochs)) {
    return Status::InvalidArgument(fmt::format(
        "`evaluate_every` '{}': write a number of steps, like 200, or of epochs, like 1epoch",
        text));
  }
  if (epochs) interval.epochs = static_cast<uint32_t>(std::exchange(interval.steps, 0));
  return interval;
}

Result<JudgingPlan> ChooseDefaults(std::string_view model, const DataShape& samples,
                                   JobRequest& request, bool raw_target) {
  const bool network = IsNetwork(model);
  OptimizerOptions& optimizer = request.optimizer;
  const bool follows_size = raw_target && WordOf(model) == "linear";
  if (request.open.optimizer) {
    const bool momenta = request.sync == "dana";  // It has no other optimizer.
    optimizer.name = (momenta ? kNesterov : follows_size ? kSgd : kAdam).name;
  }
  const OptimizerRule* rule = FindOptimizerRule(optimizer.name);
  if (request.open.learning_rate && rule != nullptr) {
    optimizer.learning_rate = RateFor(*rule, model);
  }
  if (request.open.schedule && request.open.steps) {
    optimizer.schedule = "plateau:patience=3,factor=0.2,times=3";
  }
  MOTLEY_ASSIGN_OR_RETURN(JudgingPlan plan, PlanJudging(request));
  const bool asked = request.validation > 0 || !request.evaluate_every.empty();
  if (request.validation > 0) {
    plan.validation = request.validation;
  } else if (request.validation == 0 && Judges(plan) && (network || asked)) {
    if (asked || samples.rows >= kLeastToHoldOut) plan.validation = HeldOutOf(samples.rows);
  }
  const bool few = network && samples.rows < kLeastToHoldOut && plan.validation == 0;
  // It keeps weights small itself.
  const bool decays = rule != nullptr && FindOption(*rule, "weight_decay") != nullptr;
  const bool open =
      !request.Given(&OptimizerOptions::l2) && request.open.steps && request.dropout == 0;
  if (few && open && !decays && !raw_target) {
    optimizer.l2 = kL2WithoutValidation;
  }
  const uint64_t rows =
      samples.rows - static_cast<uint64_t>(plan.validation * static_cast<double>(samples.rows));
  if (request.open.batch) request.batch = BatchFor(rows);
  if (request.open.steps) request.epochs = EpochsFor(rows, request.batch);
  return plan;
}

Result<JudgingPlan> JudgingOfTrainer(const JobRequest& request) {
  if (request.validation > 0) {
    return Status::InvalidArgument(
        "`validation`: only the trainer itself can evaluate its model. Leave it out; `patience` "
        "judges by the loss of the steps");
  }
  if (request.class_weights.given()) {
    return Status::InvalidArgument(
        "`class_weights`: a trainer sets the weights of samples itself (motley_work.weight). Leave "
        "it out");
  }
  if (request.dropout > 0) {
    return Status::InvalidArgument(
        "`dropout`: only the trainer itself knows its layers. Leave it out");
  }
  JobRequest fixed = request;
  fixed.open.steps = false;
  return PlanJudging(fixed);
}

std::string DescribeLearning(const JobRequest& request, const JudgingPlan& plan,
                             uint64_t held_out) {
  const OptimizerOptions& by = request.optimizer;
  std::string text = fmt::format("learns by {} at rate {:g}", by.name, by.learning_rate);
  if (!by.groups.empty()) {
    text = fmt::format("learns by {} with {} of parameters", by.name,
                       Counted(by.groups.size(), "group"));
  }
  if (by.l2 > 0 && by.groups.empty()) text += fmt::format(", L2 {:g}", by.l2);
  if (by.schedule != "constant") text += fmt::format(" ({})", by.schedule);
  text += fmt::format(
      ", batches of {}, {}", request.batch,
      request.steps > 0 ? Counted(request.steps, "step") : Counted(request.epochs, "epoch"));
  if (plan.patience > 0) {
    const std::string by_what =
        held_out > 0 ? fmt::format("on {} held-out samples", held_out) : "in the training loss";
    text += fmt::format(" at most; stops after {} without progress {}",
                        plan.every > 0
                            ? fmt::format("{} times {}", plan.patience, Counted(plan.every, "step"))
                            : Counted(plan.patience * plan.every_epochs, "epoch"),
                        by_what);
  }
  return text;
}

}  // namespace motley
