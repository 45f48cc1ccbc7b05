// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/callback_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "training/trainers/early_ranges.h"
#include "training/trainers/foreign_samples.h"
#include "training/trainers/queued_trainer.h"
#include "training/trainers/weighted_call.h"

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
  EarlyRanges::Final final;                // Called on any thread. May be empty.
};

// The partitions that the caller's functions hold. Used on the device's thread. What is left is
// dropped with the object, so it must live as long as there is work on the partitions.
class HeldPartitions {
 public:
  HeldPartitions(std::shared_ptr<const ForeignTrainer> foreign, BatchSchedule schedule)
      : foreign_(std::move(foreign)), schedule_(std::move(schedule)) {}
  ~HeldPartitions() { DropAll(); }
  HeldPartitions(const HeldPartitions&) = delete;
  HeldPartitions& operator=(const HeldPartitions&) = delete;

  // Any thread: no partition needs to be held any more.
  void End() { ended_ = true; }
  Status Hold(PartitionId partition) {
    if (ended_) return Status::Ok();
    if (held_.erase(partition) > 0) Drop(partition);
    const uint64_t first = schedule_.first_sample(partition);
    MOTLEY_RETURN_IF_ERROR(
        foreign_->hold(partition, first, Size(partition))
            .WithContext(fmt::format("partition {} with samples from {} on cannot be held",
                                     partition, first)));
    if (foreign_->drop) held_.insert(partition);
    return Status::Ok();
  }
  void DropAll() {
    for (const PartitionId partition : held_) Drop(partition);
    held_.clear();
  }

 private:
  uint64_t Size(PartitionId partition) const { return schedule_.partition_sizes()[partition]; }
  void Drop(PartitionId partition) const {
    foreign_->drop(partition, schedule_.first_sample(partition), Size(partition));
  }

  std::shared_ptr<const ForeignTrainer> foreign_;
  BatchSchedule schedule_;
  std::set<PartitionId> held_;  // Empty if nobody wants to know what is dropped.
  std::atomic<bool> ended_ = false;
};

// Used on the device's thread.
class CallWorker {
 public:
  CallWorker(Device& device, std::shared_ptr<const ForeignTrainer> foreign, uint64_t job,
             BatchSchedule schedule)
      : device_(device), foreign_(std::move(foreign)), job_(job), samples_(std::move(schedule)) {}

  Status Add(const Call& call, Tally& tally) {
    uint64_t before = 0;
    for (const Run& run : call.runs) {
      if (*call.cancel) return Status::Cancelled("the gradient was no longer wanted");
      MOTLEY_RETURN_IF_ERROR(Gather(call.step, run));
      const std::function<void(uint64_t)> progress = [&call, before, this](uint64_t samples) {
        if (call.progress) call.progress(before + std::min<uint64_t>(samples, Count()));
      };
      MOTLEY_RETURN_IF_ERROR(AddRun(call, run, progress, tally));
      before += Count();
    }
    return Status::Ok();
  }

 private:
  uint64_t Count() const { return samples_.numbers().size(); }

  Status Gather(StepId step, const Run& run) {
    samples_.Begin(step);
    for (const PartitionSlice& slice : run.slices) MOTLEY_RETURN_IF_ERROR(samples_.Add(slice));
    return Status::Ok();
  }

  Status AddRun(const Call& call, const Run& run, const std::function<void(uint64_t)>& progress,
                Tally& tally) {
    if (IsPlain(run)) {
      // Calls for later runs change the sum.
      const bool last = &run == &call.runs.back();
      return Ask(call, run, run.coefficient.real(), progress, call.sum, tally,
                 last ? call.final : EarlyRanges::Final());
    }
    if (scratch_ == nullptr) {
      const size_t length = VectorLength(call.parameters.size());
      MOTLEY_ASSIGN_OR_RETURN(scratch_,
                              HostVector::Make("a trainer's sum", length, foreign_->memory));
    }
    std::fill(scratch_->begin(), scratch_->end(), 0.0f);
    Tally of_run;
    MOTLEY_RETURN_IF_ERROR(Ask(call, run, 1, progress, *scratch_, of_run, nullptr));
    tally.Add(run.coefficient, of_run);
    AddWeighted(run.coefficient, run.other_parts, run.ends, *scratch_, call.sum,
                device_.parallel());
    return Status::Ok();
  }

  Status Ask(const Call& call, const Run& run, double coefficient,
             const std::function<void(uint64_t)>& progress, std::span<float> sum, Tally& tally,
             EarlyRanges::Final final) {
    double loss = 0;
    auto weight = static_cast<double>(Count());
    const auto after = [&, before = tally] {
      Tally all = before;
      all.Add(1, {loss, coefficient * weight});
      return all;
    };
    EarlyRanges early(call.parameters.size(), std::move(final));
    const std::function<void(size_t, size_t)> ready = [&](size_t begin, size_t end) {
      early.Add(begin, end, after());
    };
    const Status status = foreign_->accumulate({.begin = run.begin,
                                                .end = run.end,
                                                .step = WholeStep(call.step),
                                                .job = job_,
                                                .version = call.version,
                                                .parameters = call.parameters,
                                                .samples = samples_.numbers(),
                                                .batch = samples_.batch(),
                                                .coefficient = coefficient,
                                                .sum = sum.first(call.parameters.size()),
                                                .loss = &loss,
                                                .weight = &weight,
                                                .cancelled = *call.cancel,
                                                .progress = progress,
                                                .ready = ready});
    tally = after();
    const std::string where = Where(call, run);
    MOTLEY_RETURN_IF_ERROR(ForeignOutcome(status, *call.cancel, where));
    MOTLEY_RETURN_IF_ERROR(CheckForeignWeight(weight, where));
    return early.Check(tally, where);
  }

  std::string Where(const Call& call, const Run& run) const {
    return fmt::format("step {}, {} samples of partitions {} to {}", call.step, Count(), run.begin,
                       run.end - 1);
  }

  Device& device_;
  std::shared_ptr<const ForeignTrainer> foreign_;
  uint64_t job_;
  ForeignSamples samples_;  // The samples of the current run.
  SharedVector scratch_;    // Vector of a run whose coefficients are not one real factor.
};

class CallbackTrainer final : public QueuedTrainer {
 public:
  CallbackTrainer(Loop& loop, Device& device, std::shared_ptr<const ForeignTrainer> foreign,
                  ForeignShape shape, const PartitionStore& store, BatchSchedule schedule)
      : QueuedTrainer(loop, device, store, {shape.features, shape.classes}, std::move(schedule)),
        foreign_(foreign),
        held_(std::make_shared<HeldPartitions>(foreign, this->schedule())),
        worker_(std::make_shared<CallWorker>(device, foreign, shape.job, this->schedule())),
        whole_(std::make_shared<WeightedCall>(device, std::move(foreign), shape.job,
                                              this->schedule())) {}

  size_t parameter_count() const override { return foreign_->parameter_count; }

  bool cuts_work() const override { return foreign_->whole_rows || foreign_->accumulate_weighted; }

  void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel,
                  Done done) override {
    if (cancel == nullptr) cancel = std::make_shared<std::atomic<bool>>(false);
    if (foreign_->accumulate_weighted) {
      return AccumulateWhole(std::move(work), std::move(cancel), std::move(done));
    }
    Result<std::vector<Run>> runs = CollectRuns(work);
    if (!runs.ok()) return Refuse(std::move(done), runs.status());
    Call call{work.step,        work.version, work.parameters, work.sum,
              *std::move(runs), cancel,       Relay(work),     Early(work)};
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
    if (!foreign_->hold || held_ == nullptr) return;
    Submit(
        0, [held = held_, partition] { return held->Hold(partition); }, nullptr,
        [failed = std::move(failed)](const Result<Outcome>& held) {
          if (!held.ok()) failed(held.status());
        });
  }

  // The device drops what is held after the work before. If it closes first, it destroys this work
  // without running it, and the last reference with it.
  void LetGo() override {
    if (!foreign_->drop || held_ == nullptr) return;
    held_->End();
    try {
      Submit(
          0,
          [held = held_] {
            held->DropAll();
            return Status::Ok();
          },
          nullptr, [](const Result<Outcome>&) {});
      held_ = nullptr;
    } catch (const std::bad_alloc&) {
      // This trainer is destroyed after all of its work, and drops it then.
    }
  }

 private:
  void AccumulateWhole(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel, Done done) {
    Result<std::vector<MergedTerm>> terms = Collect(work);
    if (!terms.ok()) return Refuse(std::move(done), terms.status());
    const auto tally = std::make_shared<Tally>();
    const auto whole = std::make_shared<WeightedCall::Work>(
        WeightedCall::Work{work.step, work.version, work.parameters, work.sum, *std::move(terms),
                           std::move(cancel), Relay(work), Early(work)});
    Submit(
        Samples(work.step, work.terms),
        [worker = whole_, whole, tally] { return worker->Add(*whole, *tally); }, tally,
        std::move(done));
  }

  std::function<void(uint64_t)> Relay(GradientWork& work) const {
    if (!work.progress) return nullptr;
    return [relay = std::make_shared<ProgressRelay>(loop(), std::move(work.progress))](
               uint64_t samples) { relay->Report(samples); };
  }

  EarlyRanges::Final Early(GradientWork& work) const {
    if (!work.final || work.parts > 1) return nullptr;
    return [&device = device(),
            report = std::make_shared<decltype(work.final)>(std::move(work.final))](
               size_t begin, size_t end, const Tally& tally) {
      device.PostFromWork([report, begin, end, tally] { (*report)(begin, end, tally); });
    };
  }

  Result<std::vector<Run>> CollectRuns(const GradientWork& work) const {
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
  // These are shared with work that outlives the trainer.
  std::shared_ptr<HeldPartitions> held_;  // Null: it was let go.
  std::shared_ptr<CallWorker> worker_;
  std::shared_ptr<WeightedCall> whole_;
};

}  // namespace

Status CheckForeign(const ForeignTrainer& foreign) {
  constexpr uint64_t kMost = ForeignTrainer::kMostParameters;
  if (foreign.parameter_count < 1 || foreign.parameter_count > kMost) {
    return Status::InvalidArgument(fmt::format("a trainer of {} parameters: 1 to {} are possible",
                                               foreign.parameter_count, kMost));
  }
  if (foreign.state_count <= kMost) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("a state of {} floats: at most {} are possible", foreign.state_count, kMost));
}

std::unique_ptr<Trainer> MakeCallbackTrainer(Loop& loop, Device& device,
                                             std::shared_ptr<const ForeignTrainer> foreign,
                                             ForeignShape shape, const PartitionStore& store,
                                             BatchSchedule schedule) {
  MOTLEY_ASSERT(foreign != nullptr && (foreign->accumulate || foreign->accumulate_weighted));
  return std::make_unique<CallbackTrainer>(loop, device, std::move(foreign), shape, store,
                                           std::move(schedule));
}

}  // namespace motley
