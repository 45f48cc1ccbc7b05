// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "training/calibration.h"
#include "training/queued_trainer.h"

namespace motley {
namespace {

// What is assumed of samples when calibrating before any is there.
constexpr uint32_t kMostDenseFeatures = 1 << 14;
constexpr size_t kUsualEntries = 14;
constexpr uint64_t kExampleRows = 256;  // Calibrated like these.

class ModelTrainer final : public QueuedTrainer {
 public:
  ModelTrainer(Loop& loop, Device& device, const Model& model, const PartitionStore& store,
               BatchSchedule schedule)
      : QueuedTrainer(loop, device, store, {model.spec().features, model.spec().classes},
                      std::move(schedule)),
        model_(model),
        store_(store),
        worker_(std::make_shared<TermWorker>(device, model, this->schedule())) {}

  size_t parameter_count() const override { return model_.parameter_count(); }

  void Accumulate(const GradientWork& work, std::shared_ptr<std::atomic<bool>> cancel,
                  Done done) override {
    Result<std::vector<MergedTerm>> terms = Collect(work);
    if (!terms.ok()) return Refuse(std::move(done), terms.status());
    if (cancel == nullptr) cancel = std::make_shared<std::atomic<bool>>(false);
    auto compute = [worker = worker_, epoch = schedule().epoch(work.step),
                    collected = *std::move(terms), sum = work.sum,
                    parameters = VersionedParameters{work.parameters, work.version},
                    cancel = std::move(cancel)] {
      return worker->Add(epoch, collected, parameters, *cancel, sum);
    };
    Submit(Samples(work.step, work.terms), std::move(compute), std::move(done));
  }

  void Calibrate(std::function<void(Result<double>)> done) override {
    bool sparse = model_.spec().features > kMostDenseFeatures;
    size_t entries = kUsualEntries;
    Storage storage = Storage::kFloat32;
    if (!store_.empty()) {
      const DataSource& block = *store_.begin()->second;
      const auto example = block.Range(0, std::min(kExampleRows, block.shape().rows));
      if (!example.ok()) return loop().Post([done, why = example.status()] { done(why); });
      sparse = example->sparse;
      storage = example->storage;
      if (example->rows() > 0) entries = example->column.size() / example->rows();
    }
    CalibrateModel(loop(), device(), model_,
                   MakeUpSamples(model_.spec(), sparse, static_cast<uint32_t>(entries), storage),
                   std::move(done));
  }

 private:
  // Looks everything up on the loop thread, so that the device's thread never sees the store.
  Result<std::vector<MergedTerm>> Collect(const GradientWork& work) const {
    MOTLEY_RETURN_IF_ERROR(CheckSizes(work));
    std::vector<MergedTerm> merged;
    for (const PartitionTerm& term : work.terms) {
      for (PartitionId partition = term.begin; partition < term.end; ++partition) {
        MOTLEY_ASSIGN_OR_RETURN(PartitionSlice slice, FindSlice(work.step, partition));
        if (slice.range.count == 0) continue;
        if (merged.empty() || !SameWeights(merged.back(), term)) {
          merged.push_back({.coefficient = term.coefficient, .other_parts = term.other_parts});
        }
        merged.back().slices.push_back(std::move(slice));
      }
    }
    return merged;
  }

  const Model& model_;
  const PartitionStore& store_;
  std::shared_ptr<TermWorker> worker_;  // Shared with work that outlives the trainer.
};

}  // namespace

std::unique_ptr<Trainer> MakeModelTrainer(Loop& loop, Device& device, const Model& model,
                                          const PartitionStore& store, BatchSchedule schedule) {
  return std::make_unique<ModelTrainer>(loop, device, model, store, std::move(schedule));
}

}  // namespace motley
