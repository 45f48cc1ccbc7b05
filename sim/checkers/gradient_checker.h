// SPDX-License-Identifier: Apache-2.0
// I4: every decoded gradient equals the direct sum over the step's batch. In an approximate step,
// samples have the reported weights. Every update is bit-equal to the optimizer's on that gradient,
// and the parameters follow a serial run without workers. With local steps, the sum is that of what
// the own steps of each row change, taken one after the other, and no row has two workers. Steps
// ahead of a round follow an answer that counted.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "runtime/audit/job_gradient.h"
#include "runtime/job_event.h"
#include "sim/checkers/rounding.h"
#include "sim/checkers/violations.h"
#include "sim/problems/quadratic.h"
#include "training/optimizers/optimizer.h"
#include "training/optimizers/rate_schedule.h"
#include "training/trainers/batch_schedule.h"
#include "training/trainers/trainer.h"

namespace motley {

class GradientChecker final : public JobObserver {
 public:
  // Relative to the sum of the norms of the batch's pieces, in float32. Rounded vectors may be
  // further off (Rounding).
  static constexpr double kGradientTolerance = 1e-5;
  static constexpr double kSpoilt = 1e-2;  // Far more than rounding: a worker lied.
  static constexpr double kWeightTolerance = 1e-9;

  // A resumed job is checked from its checkpoint on, against a serial run from step 0. With
  // approximate steps the serial run starts at the checkpoint, because the weights of earlier steps
  // are unknown. `data` is borrowed. `quadratic` is the gradient of a cost-only job; null for all
  // others. Errors are those of the gradient, optimizer and device.
  static Result<std::unique_ptr<GradientChecker>> Create(
      Violations& violations, const JobOptions& job, const DataSource& data,
      std::shared_ptr<Quadratic> quadratic = nullptr);

  // A worker may lie: sums that are far off are reported to `spoilt`, and are no violations.
  void ExpectLies(std::function<void(StepId)> spoilt) { spoilt_ = std::move(spoilt); }

  void OnEvent(const JobEvent& event) override;
  // For a job whose sums and versions stayed at its workers: compares its last parameters with
  // those of a serial run. Does nothing if the server decoded steps, or if vectors were rounded.
  void CheckLast(uint64_t steps, std::span<const float> parameters);

  size_t vector_length() const { return VectorLength(expected_.size()); }
  // ||parameters - serial|| / ||serial|| after the last step.
  double serial_difference() const { return worst_.serial_difference; }
  // Largest error of a decoded gradient, relative to the sum of norms.
  double worst_gradient_error() const { return worst_.gradient_error; }

 private:
  void On(const event::StepOpened& event);
  void On(const event::RowAssigned& event);
  void On(const event::StepApproximated& event);
  void On(const event::StepDecoded& event);
  void On(const event::StepApplied& event);
  void On(const event::UpdateTakenBack& event);

  // The sum over a batch, added sample by sample without a code.
  struct Direct {
    std::vector<double> gradient;
    double loss = 0;
    double loss_magnitude = 0;
    double scale = 0;    // Sum of the norms of the pieces.
    double samples = 0;  // The weight that the sum should have.
  };

  // How the rate of updates changes, by the job's schedule.
  struct Rates {
    RateSchedule schedule;
    uint64_t steps = 0;
    double Factor(StepId step, double samples) const {
      return schedule.Factor(step, steps) * schedule.BatchFactor(samples);
    }
  };

  GradientChecker(Violations& violations, const JobOptions& job, const DataSource& data);
  Status Prepare(const JobOptions& job);
  const std::vector<uint32_t>& RowsOf(StepId step);
  Status Resume(const JobOptions& job);
  // The weight of a partition in the sum of the current step.
  double WeightOf(PartitionId partition) const;
  // The samples that the update of the current step stands for.
  double SamplesOf(StepId step) const;
  Result<Direct> Sum(StepId step, std::span<const float> parameters);
  Status AddPiece(StepId step, std::span<const float> parameters, std::span<const uint32_t> rows,
                  double weight, Direct& direct);
  Result<Direct> SumOfLocalSteps(StepId step, std::span<const float> parameters);
  // Takes the own steps of a row's worker. `change` gets what they change, per sample.
  Status TakeLocalSteps(StepId step, RowId row, std::vector<float>& change, Direct& of_row);
  // Takes own steps [from, to) of `turns`.
  Status TakeOwnSteps(StepId step, RowId row, uint32_t from, uint32_t to, uint32_t turns,
                      std::vector<float>& parameters, Direct& of_row);
  Direct KnownSum(StepId step, std::span<const float> parameters);
  void TakePart(StepId step);
  void CheckStep(const event::StepDecoded& event, const Contribution& from,
                 std::span<const float> used);
  void CheckSum(StepId step, const DecodedSum& sum, const Direct& direct);
  Status StepSerially(StepId step);
  void Compare(std::span<const float> parameters);  // Compares with the serial run.

  Violations& violations_;
  const DataSource& data_;
  BatchSchedule schedule_;
  struct {
    std::optional<StepId> step;
    std::vector<uint32_t> rows;
    std::vector<PartitionId> from;  // The partition of each row.
    // What open updates have of batches that they share; none if each has one of its own.
    std::optional<std::map<StepId, std::vector<CodeEntry>>> parts;
  } batch_;                                    // The batch of the last step that was asked for.
  std::optional<ApproximateSum> approximate_;  // Set if the current step ended approximately.
  double largest_weight_ = 1;                  // The largest weight of a row in the current step.
  VirtualLoop loop_;                           // The device's loop; nothing is ever posted to it.
  std::unique_ptr<Device> device_;
  std::unique_ptr<JobGradient> direct_;
  std::shared_ptr<Quadratic> quadratic_;
  std::unique_ptr<Rounding> rounding_;
  const std::atomic<bool> never_cancelled_ = false;
  Rates rates_;
  std::unique_ptr<Optimizer> optimizer_;         // Repeats the server's updates.
  std::unique_ptr<Optimizer> serial_optimizer_;  // Makes the serial run's updates.
  std::vector<float> expected_;                  // Parameters of the newest version.
  // All versions, if each worker has updates of its own. There is no serial run then.
  std::optional<std::vector<std::vector<float>>> versions_;
  std::vector<float> serial_;
  struct {
    std::vector<float> expected, serial;
  } before_;  // The same before the last update.
  struct {
    LocalSteps how;
    Rates rates;
    std::vector<std::vector<CodeEntry>> rows;  // The partitions of each row of the open step.
    std::vector<std::optional<event::RowAssigned>> given;  // The worker of each row.
    struct End {
      std::optional<StepId> step;
      std::vector<float> parameters;  // None: the row had no sample.
    };
    std::map<WorkerId, End> ends;  // What the last round that counted ended with for each worker.
  } local_;
  std::function<void(StepId)> spoilt_;  // Null: no worker lies.
  uint64_t decoded_ = 0;                // Steps whose sums came here.
  struct {
    double serial_difference = 0, gradient_error = 0;
  } worst_;
};

}  // namespace motley
