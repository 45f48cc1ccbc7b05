// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/callback_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>
#include <vector>

#include "training/trainers/queued_trainer.h"

namespace motley {
namespace {

// Adjacent partitions with the same coefficients. Partitions between them add nothing.
struct Run {
  std::complex<double> coefficient;
  std::vector<std::complex<double>> other_parts;
  std::span<const size_t> ends;  // As in GradientWork.
  PartitionId begin = 0;
  PartitionId end = 0;
  std::vector<PartitionSlice> slices;
};

struct Call {
  StepId step = 0;
  uint64_t version = 0;
  std::span<const float> parameters;
  std::span<float> sum;
  std::vector<Run> runs;
  std::shared_ptr<std::atomic<bool>> cancel;
  std::function<void(uint64_t)> progress;  // Called on the device's thread. May be empty.
};

// Forwards progress to the loop: one task at a time, with the newest number.
class ProgressRelay : public std::enable_shared_from_this<ProgressRelay> {
 public:
  ProgressRelay(Loop& loop, Function<void(uint64_t)> told) : loop_(loop), told_(std::move(told)) {}

  void Report(uint64_t samples) {
    samples_ = samples;
    if (posted_.exchange(true)) return;
    try {
      loop_.Post([self = shared_from_this()] {
        self->posted_ = false;
        self->told_(self->samples_);
      });
    } catch (const std::bad_alloc&) {
      posted_ = false;  // The next call posts again.
    }
  }

 private:
  Loop& loop_;
  Function<void(uint64_t)> told_;
  std::atomic<uint64_t> samples_ = 0;
  std::atomic<bool> posted_ = false;
};

// Callbacks get float32 samples, whatever their storage.
Status AppendFloats(const DataSource& block, std::span<const uint32_t> rows, Dataset& to) {
  if (block.shape().storage == Storage::kFloat32) return block.AppendTo(to, rows);
  MOTLEY_ASSIGN_OR_RETURN(Dataset samples, block.Gather(rows));
  Widen(samples);
  to.label.insert(to.label.end(), samples.label.begin(), samples.label.end());
  to.dense.insert(to.dense.end(), samples.dense.begin(), samples.dense.end());
  return Status::Ok();
}

// Used on the device's thread.
class CallWorker {
 public:
  CallWorker(Device& device, std::shared_ptr<const ForeignTrainer> foreign, BatchSchedule schedule)
      : device_(device), foreign_(std::move(foreign)), schedule_(std::move(schedule)) {}

  Status Add(const Call& call, Tally& tally) {
    uint64_t before = 0;
    for (const Run& run : call.runs) {
      if (*call.cancel) return Status::Cancelled("the gradient was no longer wanted");
      MOTLEY_RETURN_IF_ERROR(Gather(call.step, run));
      const std::function<void(uint64_t)> progress = [&call, before, this](uint64_t samples) {
        if (call.progress) call.progress(before + std::min<uint64_t>(samples, samples_.size()));
      };
      MOTLEY_RETURN_IF_ERROR(AddRun(call, run, progress, tally));
      before += samples_.size();
    }
    return Status::Ok();
  }

  Status Hold(PartitionId partition) const {
    const uint64_t first = schedule_.first_sample(partition);
    return foreign_->hold(partition, first, schedule_.partition_sizes()[partition])
        .WithContext(
            fmt::format("partition {} with samples from {} on cannot be held", partition, first));
  }

 private:
  Status Gather(StepId step, const Run& run) {
    samples_.clear();
    batch_ = Dataset();
    with_batch_ = run.slices.front().block->shape().features > 0;
    const StepBatch in_batch = schedule_.At(step);
    for (const PartitionSlice& slice : run.slices) {
      const uint64_t first = schedule_.first_sample(slice.partition);
      rows_.clear();
      in_batch.AppendRows(slice.range.begin, slice.range.count, first, rows_);
      for (const uint32_t row : rows_) samples_.push_back(first + row);
      if (!with_batch_) continue;
      const DataShape shape = slice.block->shape();
      batch_.features = shape.features;
      batch_.classes = shape.classes;
      batch_.sparse = shape.sparse;
      MOTLEY_RETURN_IF_ERROR(AppendFloats(*slice.block, rows_, batch_));
    }
    return Status::Ok();
  }

  Status AddRun(const Call& call, const Run& run, const std::function<void(uint64_t)>& progress,
                Tally& tally) {
    if (IsPlain(run)) {
      return Ask(call, run, run.coefficient.real(), progress, call.sum, tally);
    }
    scratch_.assign(VectorLength(call.parameters.size()), 0.0f);
    Tally of_run;
    MOTLEY_RETURN_IF_ERROR(Ask(call, run, 1, progress, scratch_, of_run));
    tally.Add(run.coefficient, of_run);
    AddWeighted(run.coefficient, run.other_parts, run.ends, scratch_, call.sum, device_.parallel());
    return Status::Ok();
  }

  Status Ask(const Call& call, const Run& run, double coefficient,
             const std::function<void(uint64_t)>& progress, std::span<float> sum, Tally& tally) {
    double loss = 0;
    auto weight = static_cast<double>(samples_.size());
    const Status status = foreign_->accumulate({.begin = run.begin,
                                                .end = run.end,
                                                .step = call.step,
                                                .version = call.version,
                                                .parameters = call.parameters,
                                                .samples = samples_,
                                                .batch = with_batch_ ? &batch_ : nullptr,
                                                .coefficient = coefficient,
                                                .sum = sum.first(call.parameters.size()),
                                                .loss = &loss,
                                                .weight = &weight,
                                                .cancelled = *call.cancel,
                                                .progress = progress});
    tally.Add(1, {loss, coefficient * weight});
    if (status.ok()) return CheckWeight(call, run, weight);
    if (*call.cancel) return Status::Cancelled("the gradient was no longer wanted");
    const std::string where = Where(call, run);
    // kCancelled would be taken for a cancelled row, which would be asked for again and again.
    if (status.code() == StatusCode::kCancelled) {
      return Status::Callback(
          where + ": the trainer returned MOTLEY_CANCELLED, but the work was not cancelled");
    }
    return status.WithContext(where);
  }

  std::string Where(const Call& call, const Run& run) const {
    return fmt::format("step {}, {} samples of partitions {} to {}", call.step, samples_.size(),
                       run.begin, run.end - 1);
  }

  Status CheckWeight(const Call& call, const Run& run, double weight) const {
    if (std::isfinite(weight) && weight >= 0) return Status::Ok();
    return Status::Callback(
        fmt::format("{}: the trainer gave them weight {}; a weight must be finite and not negative",
                    Where(call, run), weight));
  }

  Device& device_;
  std::shared_ptr<const ForeignTrainer> foreign_;
  BatchSchedule schedule_;
  std::vector<uint32_t> rows_;  // Rows of a slice in its partition.
  // Data of the current run.
  std::vector<uint64_t> samples_;
  Dataset batch_;
  bool with_batch_ = false;
  std::vector<float> scratch_;  // Vector of a run whose coefficients are not one real factor.
};

class CallbackTrainer final : public QueuedTrainer {
 public:
  CallbackTrainer(Loop& loop, Device& device, std::shared_ptr<const ForeignTrainer> foreign,
                  ForeignShape shape, const PartitionStore& store, BatchSchedule schedule)
      : QueuedTrainer(loop, device, store, {shape.features, shape.classes}, std::move(schedule)),
        foreign_(foreign),
        worker_(std::make_shared<CallWorker>(device, std::move(foreign), this->schedule())) {}

  size_t parameter_count() const override { return foreign_->parameter_count; }

  void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel,
                  Done done) override {
    Result<std::vector<Run>> runs = Collect(work);
    if (!runs.ok()) return Refuse(std::move(done), runs.status());
    if (cancel == nullptr) cancel = std::make_shared<std::atomic<bool>>(false);
    Call call{work.step, work.version, work.parameters, work.sum, *std::move(runs), cancel, {}};
    if (work.progress) {
      call.progress = [relay = std::make_shared<ProgressRelay>(loop(), std::move(work.progress))](
                          uint64_t samples) { relay->Report(samples); };
    }
    const auto tally = std::make_shared<Tally>();
    Submit(
        Samples(work.step, work.terms),
        [worker = worker_, call = std::move(call), tally] { return worker->Add(call, *tally); },
        tally, std::move(done));
  }

  // The speed of unknown functions cannot be measured on synthetic samples.
  void Calibrate(std::shared_ptr<const std::atomic<bool>>,
                 std::function<void(Result<double>)> done) override {
    loop().Post([done = std::move(done)] { done(0.0); });
  }

  void Hold(PartitionId partition, std::function<void(Status)> failed) override {
    if (!foreign_->hold) return;
    Submit(
        0, [worker = worker_, partition] { return worker->Hold(partition); }, nullptr,
        [failed = std::move(failed)](const Result<Outcome>& held) {
          if (!held.ok()) failed(held.status());
        });
  }

 private:
  Result<std::vector<Run>> Collect(const GradientWork& work) const {
    MOTLEY_RETURN_IF_ERROR(CheckSizes(work));
    std::vector<Run> runs;
    PartitionId reached = 0;  // End of the last run.
    for (const PartitionTerm& term : work.terms) {
      for (PartitionId partition = term.begin; partition < term.end; ++partition) {
        MOTLEY_ASSIGN_OR_RETURN(PartitionSlice slice, FindSlice(work.step, partition));
        if (slice.range.count == 0) continue;
        const PartitionTerm between{reached, partition, {}};
        const bool next = !runs.empty() && SameWeights(runs.back(), term) && partition >= reached &&
                          Samples(work.step, {&between, 1}) == 0;
        if (!next) {
          runs.push_back({term.coefficient, term.other_parts, work.ends, partition, partition, {}});
        }
        runs.back().end = reached = partition + 1;
        runs.back().slices.push_back(std::move(slice));
      }
    }
    return runs;
  }

  std::shared_ptr<const ForeignTrainer> foreign_;
  std::shared_ptr<CallWorker> worker_;  // Shared with work that outlives the trainer.
};

}  // namespace

Status CheckForeign(const ForeignTrainer& foreign) {
  if (foreign.parameter_count >= 1 && foreign.parameter_count <= ForeignTrainer::kMostParameters) {
    return Status::Ok();
  }
  return Status::InvalidArgument(fmt::format("a trainer of {} parameters: 1 to {} are possible",
                                             foreign.parameter_count,
                                             ForeignTrainer::kMostParameters));
}

std::unique_ptr<Trainer> MakeCallbackTrainer(Loop& loop, Device& device,
                                             std::shared_ptr<const ForeignTrainer> foreign,
                                             ForeignShape shape, const PartitionStore& store,
                                             BatchSchedule schedule) {
  MOTLEY_ASSERT(foreign != nullptr && foreign->accumulate);
  return std::make_unique<CallbackTrainer>(loop, device, std::move(foreign), shape, store,
                                           std::move(schedule));
}

}  // namespace motley
