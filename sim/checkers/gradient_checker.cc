// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/gradient_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "coding/schemes.h"
#include "devices/paced_device.h"
#include "runtime/saving/saved_job.h"
#include "runtime/shard/batch_weight.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

constexpr size_t kPiece = 16;            // Samples per piece of the direct sum.
constexpr double kLastTolerance = 1e-4;  // Relative, for parameters after many steps.

BatchSchedule ScheduleOf(const JobOptions& job, uint64_t samples) {
  const auto partitions = PartitionCount(samples, job.workers);
  return BatchSchedule(job.seed, PartitionSizes(samples, partitions.ok() ? *partitions : 1),
                       job.batch, job.turns);
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

double Norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

}  // namespace

GradientChecker::GradientChecker(Violations& violations, const JobOptions& job,
                                 const DataSource& data)
    : violations_(violations), data_(data), schedule_(ScheduleOf(job, data.shape().rows)) {}

Result<std::unique_ptr<GradientChecker>> GradientChecker::Create(
    Violations& violations, const JobOptions& job, const DataSource& data,
    std::shared_ptr<Quadratic> quadratic) {
  std::unique_ptr<GradientChecker> checker(new GradientChecker(violations, job, data));
  checker->quadratic_ = std::move(quadratic);
  MOTLEY_RETURN_IF_ERROR(checker->Prepare(job));
  return checker;
}

Status GradientChecker::Prepare(const JobOptions& job) {
  MOTLEY_ASSIGN_OR_RETURN(device_, MakeInlineDevice(loop_));
  MOTLEY_ASSIGN_OR_RETURN(direct_, JobGradient::Create(job, data_.shape()));
  const size_t count = direct_->parameter_count();
  MOTLEY_ASSIGN_OR_RETURN(optimizer_, Optimizer::Create(OptimizerOf(job), count));
  MOTLEY_ASSIGN_OR_RETURN(serial_optimizer_, Optimizer::Create(job.optimizer, count));
  MOTLEY_ASSIGN_OR_RETURN(rates_.schedule, ParseSchedule(job.optimizer.schedule));
  MOTLEY_ASSIGN_OR_RETURN(local_.rates.schedule, ParseSchedule(job.local.optimizer.schedule));
  rates_.steps = local_.rates.steps = job.steps;
  rounding_ = std::make_unique<Rounding>(job, count);
  expected_.resize(count);
  MOTLEY_RETURN_IF_ERROR(direct_->Initialize(job.seed, expected_));
  serial_ = expected_;
  local_.how = job.local;
  if (job.sync.one_each) versions_ = {expected_};
  if (job.turns > 1) batch_.parts.emplace();
  return job.resume == nullptr ? Status::Ok() : Resume(job);
}

Status GradientChecker::Resume(const JobOptions& job) {
  const SavedJob& saved = *job.resume;
  expected_ = *saved.parameters;
  MOTLEY_RETURN_IF_ERROR(optimizer_->Restore(saved.optimizer_steps, *saved.optimizer_state));
  if (!SchemeNamed(job.code).exact) {
    serial_ = expected_;
    return serial_optimizer_->Restore(saved.optimizer_steps, *saved.optimizer_state);
  }
  for (StepId step = 0; step < saved.step; ++step) MOTLEY_RETURN_IF_ERROR(StepSerially(step));
  Compare(expected_);
  return Status::Ok();
}

// The batch of `step` as rows of the whole data set. It is cached, since each step needs it twice.
const std::vector<uint32_t>& GradientChecker::RowsOf(StepId step) {
  if (batch_.step == step) return batch_.rows;
  const std::vector<BatchSchedule::Range> ranges = schedule_.Ranges(step);
  batch_.rows = schedule_.Rows(step);
  batch_.from.clear();
  for (PartitionId p = 0; p < ranges.size(); ++p) {
    batch_.from.insert(batch_.from.end(), ranges[p].count, p);
  }
  batch_.step = step;
  return batch_.rows;
}

Result<GradientChecker::Direct> GradientChecker::Sum(StepId step,
                                                     std::span<const float> parameters) {
  if (local_.how.batch > 0) return SumOfLocalSteps(step, parameters);
  if (quadratic_ != nullptr) return KnownSum(step, parameters);
  const std::span<const uint32_t> rows = RowsOf(step);
  Direct direct;
  direct.samples = batch_.parts ? SamplesOf(step) : schedule_.batch_size(step);
  direct.gradient.assign(parameters.size(), 0);
  // The error of a rounded answer is at most a part of the norms of its samples.
  const size_t piece = rounding_->most() > 0 ? 1 : kPiece;
  for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    const double weight = WeightOf(batch_.from[begin]);
    end = begin + 1;
    while (end < std::min(begin + piece, rows.size()) && WeightOf(batch_.from[end]) == weight) {
      ++end;
    }
    MOTLEY_RETURN_IF_ERROR(
        AddPiece(step, parameters, rows.subspan(begin, end - begin), weight, direct));
  }
  return direct;
}

double GradientChecker::WeightOf(PartitionId partition) const {
  return approximate_ ? approximate_->coverage[partition] : 1;
}

double GradientChecker::SamplesOf(StepId step) const {
  return EffectiveSamples(schedule_.Ranges(step), approximate_ ? &*approximate_ : nullptr);
}

Status GradientChecker::AddPiece(StepId step, std::span<const float> parameters,
                                 std::span<const uint32_t> rows, double weight, Direct& direct) {
  std::vector<float> piece(parameters.size(), 0);
  Tally tally;
  const auto partitions = static_cast<PartitionId>(schedule_.partition_sizes().size());
  const JobGradient::Samples samples{step, step, 0, partitions, rows};  // From any partition.
  MOTLEY_RETURN_IF_ERROR(
      direct_->Sum(*device_, samples, parameters, data_, never_cancelled_, piece, tally));
  const double loss = tally.loss.real();
  for (size_t i = 0; i < piece.size(); ++i) direct.gradient[i] += weight * piece[i];
  // Overlapping rows may cancel out, so the error is relative to the largest weight.
  direct.scale += Norm(piece) * largest_weight_;
  direct.loss += weight * loss;
  direct.loss_magnitude += std::abs(loss) * largest_weight_;
  return Status::Ok();
}

Result<GradientChecker::Direct> GradientChecker::SumOfLocalSteps(
    StepId step, std::span<const float> parameters) {
  Direct direct;
  direct.gradient.assign(parameters.size(), 0);
  for (RowId row = 0; row < local_.rows.size(); ++row) {
    const double weight = approximate_ ? approximate_->weights[row] : 1;
    if (weight == 0 || local_.rows[row].empty()) continue;
    std::vector<float> change(parameters.begin(), parameters.end());
    Direct of_row;
    MOTLEY_RETURN_IF_ERROR(TakeLocalSteps(step, row, change, of_row));
    const double samples = weight * of_row.samples;
    for (size_t i = 0; i < change.size(); ++i) direct.gradient[i] += samples * change[i];
    direct.samples += samples;
    direct.scale += samples * of_row.scale;
    direct.loss += weight * of_row.loss;
    direct.loss_magnitude += weight * of_row.loss_magnitude;
  }
  return direct;
}

Status GradientChecker::TakeLocalSteps(StepId step, RowId row, std::vector<float>& change,
                                       Direct& of_row) {
  const std::vector<BatchSchedule::Range> whole = schedule_.Ranges(step);
  uint64_t samples = 0;
  for (const CodeEntry& entry : local_.rows[row]) samples += whole[entry.partition].count;
  const uint32_t turns = LocalStepCount(samples, local_.how.batch);
  const std::vector<float> start = change;
  const auto& given = local_.given[row];
  auto& end = local_.ends[given ? given->worker : 0];
  uint32_t ahead = 0;
  if (given && given->ahead) {
    if (!end.step || *end.step + 1 != step) {
      return Status::Internal(
          fmt::format("worker {} has steps ahead after no answer that counts", given->worker));
    }
    // Without samples, the worker had no parameters of its own to go on from.
    if (!end.parameters.empty()) ahead = std::min(local_.how.ahead, turns - 1);
  }
  if (ahead > 0) {
    std::vector<float> own = end.parameters;
    MOTLEY_RETURN_IF_ERROR(TakeOwnSteps(step, row, 0, ahead, turns, own, of_row));
    for (size_t i = 0; i < own.size(); ++i) change[i] += own[i] - end.parameters[i];
  }
  MOTLEY_RETURN_IF_ERROR(TakeOwnSteps(step, row, ahead, turns, turns, change, of_row));
  end.step = step;
  end.parameters = samples > 0 ? change : std::vector<float>();
  for (size_t i = 0; i < start.size(); ++i) change[i] = start[i] - change[i];
  return Status::Ok();
}

Status GradientChecker::TakeOwnSteps(StepId step, RowId row, uint32_t from, uint32_t to,
                                     uint32_t turns, std::vector<float>& parameters,
                                     Direct& of_row) {
  constexpr double kRounding = 0.02;  // Parameters and their changes are rounded in each step.
  MOTLEY_ASSIGN_OR_RETURN(const auto optimizer,
                          Optimizer::Create(local_.how.optimizer, parameters.size()));
  const auto partitions = static_cast<PartitionId>(schedule_.partition_sizes().size());
  for (uint32_t turn = from; turn < to; ++turn) {
    const StepId name = TurnOf(step, turn, turns);
    const std::vector<BatchSchedule::Range> ranges = schedule_.Ranges(name);
    std::vector<uint32_t> rows;
    for (const CodeEntry& entry : local_.rows[row]) {
      const BatchSchedule::Range& range = ranges[entry.partition];
      schedule_.At(name).AppendRows(range.begin, range.count, 0, rows);
    }
    std::vector<float> gradient(parameters.size(), 0);
    Tally tally;
    const JobGradient::Samples batch{name, step, 0, partitions, rows};
    MOTLEY_RETURN_IF_ERROR(
        direct_->Sum(*device_, batch, parameters, data_, never_cancelled_, gradient, tally));
    const auto weight = static_cast<double>(rows.size());
    of_row.loss += tally.loss.real();
    of_row.loss_magnitude += std::abs(tally.loss.real());
    of_row.samples += weight;
    const double length = weight > 0 ? Norm(gradient) / weight : 0;
    of_row.scale += local_.how.optimizer.learning_rate * length + kRounding * Norm(parameters);
    const Contribution by{.weight = weight, .rate_factor = local_.rates.Factor(step, weight)};
    MOTLEY_RETURN_IF_ERROR(optimizer->Apply(*device_, gradient, parameters, by));
  }
  return Status::Ok();
}

GradientChecker::Direct GradientChecker::KnownSum(StepId step, std::span<const float> parameters) {
  Direct direct;
  direct.samples = batch_.parts ? SamplesOf(step) : schedule_.batch_size(step);
  direct.gradient.assign(parameters.size(), 0);
  const uint32_t all = quadratic_->partitions();
  for (PartitionId begin = 0, end = 0; begin < all; begin = end) {
    const double weight = WeightOf(begin);
    end = begin + 1;
    while (end < all && (!approximate_ || WeightOf(end) == weight)) ++end;
    const Quadratic::Sums sums =
        quadratic_->Add(step, parameters, begin, end, weight, direct.gradient);
    direct.loss += weight * sums.loss;
    direct.loss_magnitude += sums.loss * largest_weight_;
    direct.scale += sums.norms * largest_weight_;
  }
  return direct;
}

void GradientChecker::CheckSum(StepId step, const DecodedSum& sum, const Direct& direct) {
  const std::span<const float> gradient = sum.gradient;
  double gap = 0;
  for (size_t i = 0; i < direct.gradient.size(); ++i) {
    const double difference = gradient[i] - direct.gradient[i];
    gap += difference * difference;
  }
  const double error = std::sqrt(gap) / std::max(direct.scale, 1e-30);
  if (spoilt_) {
    if (error > kSpoilt) spoilt_(step);
    return;
  }
  worst_.gradient_error = std::max(worst_.gradient_error, error);
  if (!(error <= kGradientTolerance + rounding_->most())) {
    violations_.Add(fmt::format(
        "I4: the gradient of step {} is {:.3g} away from the direct sum (relative)", step, error));
  }
  const double loss_error =
      std::abs(sum.loss - direct.loss) / std::max(direct.loss_magnitude, direct.scale + 1e-30);
  if (!(loss_error <= kGradientTolerance)) {
    violations_.Add(fmt::format("I4: the loss of step {} is {:.3g} away from the direct sum", step,
                                loss_error));
  }
  // All trainers of the simulator give samples weight 1.
  const double samples = direct.samples;
  const bool nothing_came = approximate_ && sum.weight == 0;
  if (!(std::abs(sum.weight - samples) <= kWeightTolerance * samples) && !nothing_came) {
    violations_.Add(fmt::format("I4: the batch of step {} weighs {:.12g} and has {} samples", step,
                                sum.weight, samples));
  }
}

Status GradientChecker::StepSerially(StepId step) {
  MOTLEY_ASSIGN_OR_RETURN(const Direct direct, Sum(step, serial_));
  std::vector<float> gradient(direct.gradient.begin(), direct.gradient.end());
  const Contribution from{.weight = static_cast<double>(schedule_.batch_size(step)),
                          .rate_factor = rates_.Factor(step, SamplesOf(step))};
  return serial_optimizer_->Apply(*device_, gradient, serial_, from);
}

void GradientChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void GradientChecker::On(const event::StepOpened& event) {
  if (batch_.parts) (*batch_.parts)[event.step] = event.code.rows.front();
  if (local_.how.batch == 0) return;
  local_.rows = event.code.rows;
  local_.given.assign(local_.rows.size(), {});
}

void GradientChecker::On(const event::RowAssigned& event) {
  if (local_.how.batch == 0) return;
  if (local_.given.at(event.row)) {
    violations_.Add(fmt::format("I3: row {} of round {} was given to another worker, {}", event.row,
                                event.step, event.worker));
  }
  local_.given[event.row] = event;
}

void GradientChecker::On(const event::StepApproximated& event) {
  approximate_ = event.sum;
  for (const double weight : event.sum.weights) {
    largest_weight_ = std::max(largest_weight_, std::abs(weight));
  }
}

void GradientChecker::On(const event::StepDecoded& event) {
  ++decoded_;
  if (versions_ && event.version >= versions_->size()) {
    violations_.Add(fmt::format("I4: update {} is of version {}, which does not exist", event.step,
                                event.version));
    return;
  }
  if (batch_.parts) TakePart(event.step);
  const uint64_t version = versions_ ? event.version : event.step;
  const auto used = versions_ ? std::span<const float>((*versions_)[version]) : event.parameters;
  const uint64_t newest = versions_ ? versions_->size() - 1 : event.step;
  Contribution from{.weight = event.sum.weight,
                    .rate_factor = rates_.Factor(newest, SamplesOf(event.step)),
                    .worker = event.worker};
  if (versions_) from.staleness = newest - version;
  if (versions_) from.computed_with = used;
  CheckStep(event, from, rounding_->Arrived(version, used));
  approximate_.reset();
  largest_weight_ = 1;
}

// The update has only these partitions of its batch.
void GradientChecker::TakePart(StepId step) {
  std::vector<double> coverage(schedule_.partition_sizes().size(), 0);
  for (const CodeEntry& entry : (*batch_.parts)[step]) coverage[entry.partition] = 1;
  approximate_ = ApproximateSum{{1}, std::move(coverage), 0};
  batch_.parts->erase(step);
}

void GradientChecker::CheckStep(const event::StepDecoded& event, const Contribution& from,
                                std::span<const float> used_parameters) {
  const StepId step = event.step;
  const DecodedSum& sum = event.sum;
  if (!SameBits(event.parameters, expected_)) {
    violations_.Add(
        fmt::format("I4: step {} used other parameters than those of its version", step));
    return;
  }
  // The state of workers' own optimizers is not known here.
  if (local_.how.batch == 0 || OptimizerVectors(local_.how.optimizer.name) == 0) {
    const auto direct = Sum(step, used_parameters);
    if (!direct.ok()) {
      violations_.Add(fmt::format("I4: step {}: {}", step, direct.status().ToString()));
      return;
    }
    CheckSum(step, sum, *direct);
  }
  before_.expected = expected_;
  before_.serial = serial_;
  std::vector<float> used(sum.gradient.begin(), sum.gradient.begin() + expected_.size());
  Status status = optimizer_->Apply(*device_, used, expected_, from);
  if (versions_) {
    versions_->push_back(expected_);
    serial_ = expected_;
  } else if (local_.how.batch > 0) {
    serial_ = expected_;  // Another run has other shares.
  } else if (status.ok()) {
    status = StepSerially(step);
  }
  if (!status.ok()) violations_.Add(fmt::format("I4: step {}: {}", step, status.ToString()));
}

void GradientChecker::On(const event::StepApplied& event) {
  if (event.parameters.empty()) return;  // They stayed with the owners (CheckLast).
  if (!SameBits(event.parameters, expected_)) {
    violations_.Add(fmt::format("I4: the update of step {} is not the optimizer's on its gradient",
                                event.step));
    expected_.assign(event.parameters.begin(), event.parameters.end());
  }
  Compare(event.parameters);
}

// Only an optimizer without state takes an update back.
void GradientChecker::On(const event::UpdateTakenBack&) {
  if (decoded_ == 0) return;  // The checker sees no sums.
  expected_ = before_.expected;
  serial_ = before_.serial;
  optimizer_->SetSteps(optimizer_->steps() - 1);
  if (versions_) {
    versions_->pop_back();
  } else {
    serial_optimizer_->SetSteps(serial_optimizer_->steps() - 1);
  }
}

void GradientChecker::CheckLast(uint64_t steps, std::span<const float> parameters) {
  if (decoded_ > 0 || rounding_->most() > 0) return;
  for (StepId step = 0; step < steps; ++step) {
    const Status status = StepSerially(step);
    if (!status.ok()) violations_.Add(fmt::format("I4: step {}: {}", step, status.ToString()));
  }
  Compare(parameters);
  if (worst_.serial_difference <= kLastTolerance) return;
  violations_.Add(
      fmt::format("I4: the last parameters are {:.3g} away from a serial run (relative)",
                  worst_.serial_difference));
}

void GradientChecker::Compare(std::span<const float> parameters) {
  double gap = 0;
  for (size_t i = 0; i < serial_.size(); ++i) {
    const double difference = static_cast<double>(parameters[i]) - serial_[i];
    gap += difference * difference;
  }
  worst_.serial_difference = std::sqrt(gap) / std::max(Norm(serial_), 1e-30);
}

}  // namespace motley
