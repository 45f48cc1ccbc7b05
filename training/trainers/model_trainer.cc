// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "training/trainers/calibration.h"
#include "training/trainers/queued_trainer.h"

namespace motley {
namespace {

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

  void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel,
                  Done done) override {
    Result<std::vector<MergedTerm>> terms = Collect(work);
    if (!terms.ok()) return Refuse(std::move(done), terms.status());
    if (cancel == nullptr) cancel = std::make_shared<std::atomic<bool>>(false);
    const auto tally = std::make_shared<Tally>();
    TermWorker::Final final;
    if (work.final) {
      auto told = std::make_shared<decltype(work.final)>(std::move(work.final));
      final = [&device = device(), told](size_t begin, size_t end, const Tally& of_all) {
        device.PostFromWork([told, begin, end, of_all] { (*told)(begin, end, of_all); });
      };
    }
    auto compute = [worker = worker_, step = work.step, collected = *std::move(terms),
                    sum = work.sum, parameters = VersionedParameters{work.parameters, work.version},
                    cancel = std::move(cancel), tally, final = std::move(final)] {
      return worker->Add(step, collected, parameters, *cancel, sum, *tally, final);
    };
    Submit(Samples(work.step, work.terms), std::move(compute), tally, std::move(done));
  }

  void Calibrate(Cancelled cancel, std::function<void(Result<double>)> done) override {
    auto samples = UsualSamples(model_.spec(), store_);
    if (!samples.ok()) return loop().Post([done, why = samples.status()] { done(why); });
    CalibrateModel(loop(), device(), model_, *std::move(samples), std::move(cancel),
                   std::move(done));
  }

 private:
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
