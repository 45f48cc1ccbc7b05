// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "training/calibration.h"
#include "training/term_work.h"
#include "training/trainer.h"

namespace motley {
namespace {

// What is assumed of samples when calibrating before any is there.
constexpr uint32_t kMostDenseFeatures = 1 << 14;
constexpr size_t kUsualEntries = 14;

class ModelTrainer final : public Trainer {
 public:
  ModelTrainer(Loop& loop, Device& device, Model& model, const PartitionStore& store,
               BatchSchedule schedule)
      : loop_(loop),
        device_(device),
        model_(model),
        store_(store),
        schedule_(schedule),
        worker_(std::make_shared<TermWorker>(device, model, std::move(schedule))) {}

  size_t parameter_count() const override { return model_.parameter_count(); }

  void Accumulate(const GradientWork& work, std::shared_ptr<std::atomic<bool>> cancel,
                  Done done) override {
    Result<std::vector<MergedTerm>> terms = Collect(work);
    if (!terms.ok()) {
      // Never inside the call: the caller may not be ready for it.
      loop_.Post([done = std::move(done), status = terms.status()] { done(status); });
      return;
    }
    const uint64_t samples = Samples(work.step, work.terms);
    const Time start = loop_.Now();
    if (cancel == nullptr) cancel = std::make_shared<std::atomic<bool>>(false);
    auto compute = [worker = worker_, epoch = schedule_.epoch(work.step),
                    collected = *std::move(terms), parameters = work.parameters, sum = work.sum,
                    cancel = std::move(cancel)] {
      return worker->Add(epoch, collected, parameters, *cancel, sum);
    };
    auto finish = [&loop = loop_, samples, start, last_finish = last_finish_,
                   done = std::move(done)](const Status& status) {
      // Time in the queue behind earlier calls is theirs.
      const Time begin = std::max(start, *last_finish);
      *last_finish = loop.Now();
      if (!status.ok()) return done(status);
      done(Outcome{.samples = samples, .compute = *last_finish - begin});
    };
    device_.Submit(static_cast<double>(samples), std::move(compute), std::move(finish));
  }

  uint64_t Samples(StepId step, std::span<const PartitionTerm> terms) const override {
    const std::vector<BatchSchedule::Range>& ranges = Ranges(step);
    uint64_t samples = 0;
    for (const PartitionTerm& term : terms) {
      for (size_t p = term.begin; p < term.end && p < ranges.size(); ++p)
        samples += ranges[p].count;
    }
    return samples;
  }

  void Calibrate(std::function<void(Result<double>)> done) override {
    const Dataset* example = store_.empty() ? nullptr : store_.begin()->second.get();
    bool sparse = model_.spec().features > kMostDenseFeatures;
    size_t entries = kUsualEntries;
    if (example != nullptr && example->rows() > 0) {
      sparse = example->sparse;
      entries = example->column.size() / example->rows();
    }
    CalibrateModel(loop_, device_, model_,
                   MakeUpSamples(model_.spec(), sparse, static_cast<uint32_t>(entries)),
                   std::move(done));
  }

 private:
  // One step is asked about many times over, chunk by chunk.
  const std::vector<BatchSchedule::Range>& Ranges(StepId step) const {
    if (ranges_.empty() || ranges_step_ != step) {
      ranges_ = schedule_.Ranges(step);
      ranges_step_ = step;
    }
    return ranges_;
  }

  // Looks everything up on the loop thread, so that the device's thread never sees the store.
  Result<std::vector<MergedTerm>> Collect(const GradientWork& work) const {
    if (work.parameters.size() != parameter_count() ||
        work.sum.size() != VectorLength(parameter_count())) {
      return Status::InvalidArgument(fmt::format("{} parameters and a sum of {} for a model of {}",
                                                 work.parameters.size(), work.sum.size(),
                                                 parameter_count()));
    }
    std::vector<MergedTerm> merged;
    for (const PartitionTerm& term : work.terms) {
      for (PartitionId partition = term.begin; partition < term.end; ++partition) {
        MOTLEY_ASSIGN_OR_RETURN(PartitionSlice slice, FindSlice(work.step, partition));
        if (slice.range.count == 0) continue;
        if (merged.empty() || merged.back().coefficient != term.coefficient) {
          merged.push_back({.coefficient = term.coefficient});
        }
        merged.back().slices.push_back(std::move(slice));
      }
    }
    return merged;
  }

  Result<PartitionSlice> FindSlice(StepId step, PartitionId partition) const {
    if (partition >= schedule_.partition_sizes().size()) {
      return Status::InvalidArgument(fmt::format("partition {} is not one of the job's {}",
                                                 partition, schedule_.partition_sizes().size()));
    }
    const auto found = store_.find(partition);
    if (found == store_.end()) {
      return Status::NotFound(fmt::format("partition {} is not on this worker", partition));
    }
    const Dataset& block = *found->second;
    if (block.features != model_.spec().features || block.classes != model_.spec().classes) {
      return Status::InvalidArgument(
          fmt::format("partition {} holds samples of another shape than the model's", partition));
    }
    if (block.rows() != schedule_.partition_sizes()[partition]) {
      return Status::InvalidArgument(
          fmt::format("partition {} has {} samples here but {} in the job", partition, block.rows(),
                      schedule_.partition_sizes()[partition]));
    }
    return PartitionSlice{
        .partition = partition, .range = Ranges(step)[partition], .block = found->second};
  }

  Loop& loop_;
  Device& device_;
  Model& model_;
  const PartitionStore& store_;
  BatchSchedule schedule_;
  std::shared_ptr<TermWorker> worker_;  // Shared with work that outlives the trainer.
  std::shared_ptr<Time> last_finish_ = std::make_shared<Time>();
  mutable std::vector<BatchSchedule::Range> ranges_;  // Of ranges_step_.
  mutable StepId ranges_step_ = 0;
};

}  // namespace

std::unique_ptr<Trainer> MakeModelTrainer(Loop& loop, Device& device, Model& model,
                                          const PartitionStore& store, BatchSchedule schedule) {
  return std::make_unique<ModelTrainer>(loop, device, model, store, std::move(schedule));
}

}  // namespace motley
