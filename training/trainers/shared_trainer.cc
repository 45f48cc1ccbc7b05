// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/shared_trainer.h"

#include <utility>

#include "training/trainers/calibration.h"
#include "training/trainers/queued_trainer.h"
#include "training/trainers/shared_sum.h"

namespace motley {
namespace {

// Once one device's speed is known, the others have this long to be measured.
constexpr Duration kMeasureTimeout = std::chrono::milliseconds(500);

class SharedTrainer final : public QueuedTrainer {
 public:
  SharedTrainer(Loop& loop, Device& host, const Model& model, const PartitionStore& store,
                BatchSchedule schedule, DeviceLost lost)
      : QueuedTrainer(loop, host, store, {model.spec().features, model.spec().classes},
                      std::move(schedule)),
        model_(model),
        store_(store),
        crew_(new Crew{loop, host, model, {}, std::move(lost), {}}) {
    Device* const alone = &host;
    const auto parts = host.parts().empty() ? std::span(&alone, 1) : host.parts();
    crew_->parts.reserve(parts.size());  // Parts must never move.
    for (Device* part : parts) {
      crew_->parts.push_back(
          {.device = part, .worker = std::make_shared<TermWorker>(*part, model, this->schedule())});
    }
  }

  size_t parameter_count() const override { return model_.parameter_count(); }
  bool cuts_work() const override { return true; }
  // Among several devices, a failed one could not give back the sums of earlier calls.
  bool keeps_sums() const override {
    return crew_->parts.size() == 1 && !crew_->parts.front().device->host_accessible();
  }

  void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel,
                  Done done) override {
    Result<std::vector<MergedTerm>> terms = Collect(work);
    if (!terms.ok()) return Refuse(std::move(done), terms.status());
    if (cancel == nullptr) cancel = std::make_shared<std::atomic<bool>>(false);
    SharedSum::Queue(std::make_shared<SharedSum>(crew_, std::move(work), *std::move(terms),
                                                 std::move(cancel), std::move(done)));
  }

  // Measures all devices at the same time, because they will work that way.
  void Calibrate(Cancelled cancel, std::function<void(Result<double>)> done) override {
    const auto samples = UsualSamples(model_.spec(), store_);
    if (!samples.ok()) return loop().Post([done, why = samples.status()] { done(why); });
    auto calibration = std::make_shared<Calibration>(loop());
    calibration->left = crew_->parts.size();
    calibration->done = std::move(done);
    for (CrewPart& part : crew_->parts) {
      part.measuring = true;
      CalibrateModel(loop(), *part.device, model_, *samples, cancel,
                     [crew = crew_, &part, calibration](const Result<double>& speed) {
                       OnSpeed(*crew, part, calibration, speed);
                     });
    }
  }

 private:
  // Work on the devices holds it, and it holds what that work needs.
  struct Calibration {
    explicit Calibration(Loop& the_loop) : loop(the_loop) {}
    ~Calibration() { StopWaiting(); }
    Calibration(const Calibration&) = delete;
    Calibration& operator=(const Calibration&) = delete;

    void StopWaiting() {
      if (timer != 0) loop.Cancel(std::exchange(timer, 0));
    }
    void Report(const Result<double>& result) {
      StopWaiting();
      if (!std::exchange(told, true)) done(result);
    }

    Loop& loop;
    size_t left = 0;   // Devices still being measured.
    double speed = 0;  // Sum over the measured devices.
    bool told = false;
    TimerId timer = 0;
    std::function<void(Result<double>)> done;
  };

  // A device that hangs, or compiles for minutes, delays no other.
  static void OnSpeed(Crew& crew, CrewPart& part, const std::shared_ptr<Calibration>& calibration,
                      const Result<double>& speed) {
    part.measuring = false;
    if (speed.ok()) {
      part.speed = SpeedEstimator(*speed);
      calibration->speed += *speed;
    } else {
      crew.Lose(part, speed.status());
    }
    if (--calibration->left == 0) {
      if (crew.Live() == 0) return calibration->Report(crew.failure);
      return calibration->Report(calibration->speed);
    }
    if (calibration->told || calibration->timer != 0 || !speed.ok()) return;
    calibration->timer =
        calibration->loop.After(kMeasureTimeout, [kept = std::weak_ptr<Calibration>(calibration)] {
          const auto waiting = kept.lock();
          if (waiting == nullptr) return;
          waiting->timer = 0;
          waiting->Report(waiting->speed);
        });
  }

  const Model& model_;
  const PartitionStore& store_;
  const std::shared_ptr<Crew> crew_;  // Shared with work that outlives the trainer.
};

}  // namespace

std::unique_ptr<Trainer> MakeSharedTrainer(Loop& loop, Device& device, const Model& model,
                                           const PartitionStore& store, BatchSchedule schedule,
                                           DeviceLost lost) {
  return std::make_unique<SharedTrainer>(loop, device, model, store, std::move(schedule),
                                         std::move(lost));
}

}  // namespace motley
