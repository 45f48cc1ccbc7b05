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

namespace motley {
namespace {

constexpr size_t kPiece = 16;            // Samples per piece of the direct sum.
constexpr double kLastTolerance = 1e-4;  // Relative, for parameters after many steps.

BatchSchedule ScheduleOf(const JobOptions& job, uint64_t samples) {
  const auto partitions = PartitionCount(samples, job.workers);
  return BatchSchedule(job.seed, PartitionSizes(samples, partitions.ok() ? *partitions : 1),
                       job.batch);
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
  MOTLEY_ASSIGN_OR_RETURN(optimizer_, Optimizer::Create(job.optimizer, count));
  MOTLEY_ASSIGN_OR_RETURN(serial_optimizer_, Optimizer::Create(job.optimizer, count));
  rounding_ = std::make_unique<Rounding>(job, count);
  expected_.resize(count);
  MOTLEY_RETURN_IF_ERROR(direct_->Initialize(job.seed, expected_));
  serial_ = expected_;
  if (job.sync.one_each) versions_ = {expected_};
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
  if (quadratic_ != nullptr) return KnownSum(step, parameters);
  const std::span<const uint32_t> rows = RowsOf(step);
  Direct direct;
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

GradientChecker::Direct GradientChecker::KnownSum(StepId step, std::span<const float> parameters) {
  Direct direct;
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
  worst_error_ = std::max(worst_error_, error);
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
  const double samples = schedule_.batch_size(step);
  const bool nothing_came = approximate_ && sum.weight == 0;
  if (!(std::abs(sum.weight - samples) <= kWeightTolerance * samples) && !nothing_came) {
    violations_.Add(fmt::format("I4: the batch of step {} weighs {:.12g} and has {} samples", step,
                                sum.weight, samples));
  }
}

Status GradientChecker::StepSerially(StepId step) {
  MOTLEY_ASSIGN_OR_RETURN(const Direct direct, Sum(step, serial_));
  std::vector<float> gradient(direct.gradient.begin(), direct.gradient.end());
  return serial_optimizer_->Apply(*device_, gradient, serial_,
                                  {.weight = static_cast<double>(schedule_.batch_size(step))});
}

void GradientChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
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
  const uint64_t version = versions_ ? event.version : event.step;
  const auto used = versions_ ? std::span<const float>((*versions_)[version]) : event.parameters;
  CheckStep(event.step, event.sum, event.parameters, rounding_->Arrived(version, used));
  approximate_.reset();
  largest_weight_ = 1;
}

void GradientChecker::CheckStep(StepId step, const DecodedSum& sum,
                                std::span<const float> parameters,
                                std::span<const float> used_parameters) {
  if (!SameBits(parameters, expected_)) {
    violations_.Add(
        fmt::format("I4: step {} used other parameters than those of its version", step));
    return;
  }
  const auto direct = Sum(step, used_parameters);
  if (!direct.ok()) {
    violations_.Add(fmt::format("I4: step {}: {}", step, direct.status().ToString()));
    return;
  }
  CheckSum(step, sum, *direct);
  before_.expected = expected_;
  before_.serial = serial_;
  std::vector<float> used(sum.gradient.begin(), sum.gradient.begin() + expected_.size());
  Status status = optimizer_->Apply(*device_, used, expected_, {.weight = sum.weight});
  if (versions_) {
    versions_->push_back(expected_);
    serial_ = expected_;
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
  if (serial_difference_ <= kLastTolerance) return;
  violations_.Add(fmt::format(
      "I4: the last parameters are {:.3g} away from a serial run (relative)", serial_difference_));
}

void GradientChecker::Compare(std::span<const float> parameters) {
  double gap = 0;
  for (size_t i = 0; i < serial_.size(); ++i) {
    const double difference = static_cast<double>(parameters[i]) - serial_[i];
    gap += difference * difference;
  }
  serial_difference_ = std::sqrt(gap) / std::max(Norm(serial_), 1e-30);
}

}  // namespace motley
