// SPDX-License-Identifier: Apache-2.0
// A trainer of the caller's own functions, in place of a built-in model. include/motley/trainer.h
// is built on it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include "training/optimizers/optimizer.h"
#include "training/trainers/host_vector.h"
#include "training/trainers/trainer.h"

namespace motley {

// Samples of one step's batch whose gradients have the same coefficient. Valid during the call.
struct ForeignWork {
  PartitionId begin = 0;  // The samples are in partitions [begin, end).
  PartitionId end = 0;
  StepId step = 0;
  uint64_t job = 0;  // Numbers one run of a server, to which `version` belongs.
  uint64_t version = 0;
  std::span<const float> parameters;
  std::span<const uint64_t> samples;  // Positions in the whole data set.
  const Dataset* batch = nullptr;     // The same samples in this order; null: the caller has them.
  double coefficient = 1;
  std::span<float> sum;  // parameter_count floats: += coefficient * (sum of the gradients)
  double* loss;          // += coefficient * (sum of the losses)
  // Total weight of the samples, without the coefficient: their number unless the call changes it.
  // The update divides by the sum over the batch.
  double* weight;
  const std::atomic<bool>& cancelled;  // Once set, the call may return kCancelled.
  // Call it from the calling thread when so many of `samples` are summed.
  const std::function<void(uint64_t)>& progress;
  // Call it when [begin, end) of `sum` is final, and `loss` and `weight` as well. Any thread, one
  // at a time.
  const std::function<void(size_t begin, size_t end)>& ready;
};

// All samples of a piece of work, for trainers that cut it themselves (weighted_call.h). Valid
// during the call.
struct WeightedWork {
  // The samples of one partition. Runs of a group have the same weights.
  struct Run {
    uint64_t first = 0;  // samples[first] and those that follow.
    uint64_t count = 0;
    PartitionId partition = 0;
    uint32_t group = 0;               // From 0.
    std::span<const double> weights;  // One for each sum.
  };
  StepId step = 0;
  uint64_t job = 0;  // As in ForeignWork.
  uint64_t version = 0;
  uint64_t seed = 0;  // The job's.
  std::span<const float> parameters;
  std::span<const uint64_t> samples;  // Positions in the whole data set, run after run.
  const Dataset* batch = nullptr;     // The same samples in this order; null: the caller has them.
  std::span<const Run> runs;
  // Arrays of parameter_count floats: sums[s] += SUM over runs r of r.weights[s] * its gradients.
  std::span<float* const> sums;
  std::span<double> losses;            // By run: += the sum of the losses, without weight.
  std::span<double> weights;           // By run: as ForeignWork::weight.
  const std::atomic<bool>& cancelled;  // Once set, the call may return kCancelled.
  // Call it when so many of `samples` are summed, on any thread, one at a time.
  const std::function<void(uint64_t)>& progress;
  // As ForeignWork::ready, for all sums.
  const std::function<void(size_t begin, size_t end)>& ready;
};

// A version of the parameters with the optimizer's state. Valid during the call.
struct ShownVersion {
  uint64_t version = 0;
  std::span<const float> parameters;
  std::span<float> state;    // A copy.
  std::span<double> losses;  // The mean losses of the batches of the updates up to this version.
};

// Empty functions are not called. A failure of theirs is kCallback with the caller's number in the
// message; any other code is passed on.
struct ForeignTrainer {
  static constexpr uint64_t kMostParameters = uint64_t{1} << 40;

  uint64_t parameter_count = 0;  // 1 to kMostParameters.
  // Runs on the compute thread. A server that has it and no `hold` also audits sums with it.
  std::function<Status(const ForeignWork&)> accumulate;
  // The same for all samples of a piece of work at once, in place of `accumulate`.
  std::function<Status(const WeightedWork&)> accumulate_weighted;
  // Pieces of work should be large: the trainer cuts them, reports progress, and stops soon when
  // cancelled. Always so with `accumulate_weighted`.
  bool whole_rows = false;
  // Runs once on the server's loop thread. `parameters` are 0 before, and stay 0 without it.
  std::function<Status(uint64_t seed, std::span<float> parameters)> initialize;
  // Runs on the server's device thread: the rule of updates instead of the optimizer's. It keeps
  // `state_count` floats, which checkpoints save.
  OwnRule apply;
  uint64_t state_count = 0;
  // Runs on the server's device thread, with each version at which the job pauses, and with the
  // last one unless the job ends early.
  std::function<Status(const ShownVersion&)> show;
  // Runs on the compute thread, before the first work on these samples.
  std::function<Status(PartitionId, uint64_t first_sample, uint64_t count)> hold;
  // Runs once for each `hold` that was fine, after the last work on these samples, and before they
  // are held again. On the compute thread, or on the one that closes the device. Needs `hold`.
  std::function<void(PartitionId, uint64_t first_sample, uint64_t count)> drop;
  // Memory for the parameters and sums that `accumulate` and `accumulate_weighted` get; null: the
  // library's.
  OwnMemory memory;
  // Runs on the server's device for evaluations: the loss of a version, by which progress is
  // judged.
  std::function<Status(uint64_t version, std::span<const float> parameters, double& loss)> evaluate;
  // Creates a worker's whole trainer, with `parameter_count` parameters, in place of the functions
  // above. It is for gradients that are not computed sample by sample. The trainer borrows the
  // first three arguments.
  std::function<std::unique_ptr<Trainer>(Loop&, Device&, const PartitionStore&,
                                         const BatchSchedule&)>
      make;
};

// kInvalidArgument: the number of parameters or of the state is out of range.
Status CheckForeign(const ForeignTrainer& foreign);

// A trainer that calls `foreign` on the device's queue; `foreign` needs `accumulate` or
// `accumulate_weighted`. For `accumulate`, terms become one call for each run of partitions with
// one coefficient; complex coefficients are applied here. Blocks with `features` 0 stand for
// samples that the caller has, and no batch is gathered for them. Calibrate returns 0, because
// speed is not known before there is work.
//
// `loop`, `device` and `store` are borrowed. Errors are those of MakeModelTrainer; those of the
// functions name partitions and step.
struct ForeignShape {
  uint32_t features = 0;
  uint32_t classes = 0;
  uint64_t job = 0;  // ForeignWork::job
};
std::unique_ptr<Trainer> MakeCallbackTrainer(Loop& loop, Device& device,
                                             std::shared_ptr<const ForeignTrainer> foreign,
                                             ForeignShape shape, const PartitionStore& store,
                                             BatchSchedule schedule);

}  // namespace motley
