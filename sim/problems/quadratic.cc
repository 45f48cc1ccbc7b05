// SPDX-License-Identifier: Apache-2.0
#include "sim/problems/quadratic.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "training/trainers/calibration.h"
#include "training/trainers/queued_trainer.h"
#include "training/trainers/term_work.h"

namespace motley {
namespace {

constexpr uint64_t kCentreDraws = 12;  // Their own stream of the simulation's draws.

// A factor in [0.5, 1.5), by the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
double FactorOf(uint64_t seed, StepId step, size_t parameter) {
  uint64_t z = seed + step * 0x9e3779b97f4a7c15u + (parameter + 1) * 0xd1b54a32d192ed03u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return 0.5 + static_cast<double>(z >> 11) * 0x1p-53;
}

class QuadraticTrainer final : public QueuedTrainer {
 public:
  QuadraticTrainer(Loop& loop, Device& device, const PartitionStore& store,
                   const BatchSchedule& schedule, std::shared_ptr<Quadratic> quadratic,
                   size_t parameter_count, bool calibrates)
      : QueuedTrainer(loop, device, store, {}, schedule),
        quadratic_(std::move(quadratic)),
        gradient_(parameter_count),
        calibrates_(calibrates) {}

  size_t parameter_count() const override { return gradient_.size(); }

  void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>>, Done done) override {
    if (Status fine = CheckSizes(work); !fine.ok()) return Refuse(std::move(done), fine);
    const auto tally = std::make_shared<Tally>();
    for (const PartitionTerm& term : work.terms) {
      if (term.end > quadratic_->partitions()) {
        return Refuse(std::move(done),
                      Status::InvalidArgument("the partition is not one of the job's"));
      }
      AddTerm(work, term, *tally);
    }
    // Nobody reads the sum before `done`, so the work may be done early.
    Submit(
        Samples(work.step, work.terms), [] { return Status::Ok(); }, tally, std::move(done));
  }

  void Calibrate(Cancelled cancel, std::function<void(Result<double>)> done) override {
    if (!calibrates_) return loop().Post([done = std::move(done)] { done(0.0); });
    CalibrateDevice(
        loop(), device(), [](size_t) { return Status::Ok(); }, std::move(cancel), std::move(done));
  }

 private:
  void AddTerm(const GradientWork& work, const PartitionTerm& term, Tally& tally) {
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    const bool plain = IsPlain(term);
    const double coefficient = plain ? term.coefficient.real() : 1;
    const double loss =
        quadratic_->Add(work.step, work.parameters, term.begin, term.end, coefficient, gradient_)
            .loss;
    if (!plain) scratch_.assign(VectorLength(gradient_.size()), 0.0f);
    const std::span<float> sum = plain ? work.sum : std::span<float>(scratch_);
    for (size_t j = 0; j < gradient_.size(); ++j) sum[j] += static_cast<float>(gradient_[j]);
    const auto samples = static_cast<double>(Samples(work.step, {&term, 1}));
    tally.Add(term.coefficient, {loss, samples});
    if (plain) return;
    AddWeighted(term.coefficient, term.other_parts, work.ends, scratch_, work.sum,
                device().parallel());
  }

  const std::shared_ptr<Quadratic> quadratic_;
  std::vector<double> gradient_;  // The gradient of the current term.
  std::vector<float> scratch_;    // The same as a vector, for coefficients that are not plain.
  const bool calibrates_;
};

}  // namespace

Quadratic::Quadratic(uint64_t seed, const BatchSchedule& schedule)
    : seed_(seed), schedule_(schedule), centres_(schedule.partition_sizes().size()) {
  Random random(seed, Stream::kSimulation, kCentreDraws);
  for (Centres& centres : centres_) {
    // Centres are multiples of 1/64 between 1 and 3, so sums of them and of their squares are
    // exact.
    for (double& centre : centres) centre = 1 + static_cast<double>(random.Below(128)) / 64;
  }
}

void Quadratic::Prepare(StepId step, size_t parameters) {
  if (step_ == step && !before_.empty() && factors_.size() == parameters) return;
  step_ = step;
  factors_.resize(parameters);
  for (size_t j = 0; j < parameters; ++j) factors_[j] = FactorOf(seed_, step, j);
  const auto shared = schedule_.SharedRanges(step);
  const std::vector<BatchSchedule::Range>& ranges = *shared;
  before_.resize(ranges.size() + 1);
  Prefix sum;
  for (size_t p = 0; p < ranges.size(); ++p) {
    const double samples = ranges[p].count;
    if (samples == 0) {  // Most partitions have no sample in a small batch.
      before_[p + 1] = sum;
      continue;
    }
    sum.samples += samples;
#pragma GCC unroll 4  // Keeps the sums in registers.
    for (size_t j = 0; j < kCentres; ++j) {
      const double centres = samples * centres_[p][j];
      sum.centres[j] += centres;
      sum.squares[j] += centres * centres_[p][j];
    }
    before_[p + 1] = sum;
  }
}

Quadratic::Sums Quadratic::Add(StepId step, std::span<const float> parameters, PartitionId begin,
                               PartitionId end, double coefficient, std::span<double> gradient) {
  Prepare(step, parameters.size());
  const Prefix& from = before_[begin];
  const Prefix& to = before_[end];
  const double samples = to.samples - from.samples;
  double squares = 0;
  for (size_t j = 0; j < parameters.size(); ++j) {
    const double centres = to.centres[j % kCentres] - from.centres[j % kCentres];
    const double centre_squares = to.squares[j % kCentres] - from.squares[j % kCentres];
    const double x = parameters[j];
    const double f = factors_[j];
    gradient[j] += coefficient * (samples * x - f * centres);
    squares += samples * x * x - 2 * x * f * centres + f * f * centre_squares;
  }
  // The Cauchy-Schwarz inequality: the sum of n norms is at most sqrt(n * sum of their squares).
  return {squares / 2, std::sqrt(samples * std::max(squares, 0.0))};
}

std::shared_ptr<const ForeignTrainer> MakeQuadraticTrainer(std::shared_ptr<Quadratic> quadratic,
                                                           size_t parameter_count,
                                                           bool calibrates) {
  auto foreign = std::make_shared<ForeignTrainer>();
  foreign->parameter_count = parameter_count;
  foreign->make = [quadratic = std::move(quadratic), parameter_count, calibrates](
                      Loop& loop, Device& device, const PartitionStore& store,
                      const BatchSchedule& schedule) -> std::unique_ptr<Trainer> {
    return std::make_unique<QuadraticTrainer>(loop, device, store, schedule, quadratic,
                                              parameter_count, calibrates);
  };
  return foreign;
}

}  // namespace motley
