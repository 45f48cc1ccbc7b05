// SPDX-License-Identifier: Apache-2.0
#include "training/models/size_ladder.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "training/models/model_session.h"

namespace motley {
namespace {

constexpr size_t kGatherRows = 1024;  // Same as the trainer's.
constexpr uint32_t kLeastRounds = 3;
constexpr uint32_t kAttempts = 3;
constexpr size_t kLeastSizes = 3;   // A line through fewer sizes says nothing.
constexpr double kNothing = 0.005;  // Fraction of `patience`: a shorter piece never ends the climb.

// One measurement in progress; the next callback owns it.
class Ladder : public std::enable_shared_from_this<Ladder> {
 public:
  using Done = std::function<void(Result<std::vector<SizedTimes>>)>;

  Ladder(Loop& loop, Device& device, const Model& model, Dataset samples,
         const LadderOptions& options, Done done)
      : loop_(loop),
        device_(device),
        model_(model),
        session_(device, model),
        samples_(std::move(samples)),
        options_(options),
        done_(std::move(done)) {}

  void Start() {
    started_ = loop_.Now();
    Run(1);
  }

 private:
  void Run(uint64_t count) {
    const Time start = loop_.Now();
    auto self = shared_from_this();
    device_.Submit(
        static_cast<double>(count), [self, count] { return self->Compute(count); },
        [self, count, start](const Status& status) {
          if (!status.ok()) return self->done_(status);
          self->Took(count, ToSeconds(self->loop_.Now() - start));
        });
  }

  // Runs on the device's thread.
  Status Compute(uint64_t count) {
    if (gradient_.empty()) {
      parameters_.resize(model_.parameter_count());
      model_.Initialize(1, parameters_);
      gradient_.resize(model_.parameter_count());
    }
    MOTLEY_RETURN_IF_ERROR(session_.Begin(parameters_, 0, gradient_));
    for (uint64_t taken = 0; taken < count;) {
      const uint64_t rows = std::min<uint64_t>(kGatherRows, count - taken);
      rows_.clear();
      for (uint64_t i = 0; i < rows; ++i) {
        rows_.push_back(static_cast<uint32_t>((taken + i) * kStride % samples_.rows()));
      }
      const Dataset batch = Select(samples_, rows_);
      MOTLEY_RETURN_IF_ERROR(session_.Add(batch, 1));
      taken += rows;
    }
    double loss = 0;
    return session_.Finish(loss);
  }

  void Took(uint64_t count, double seconds) {
    if (climbing_) return Climb(count, seconds);
    times_[rung_].seconds.push_back(seconds);
    if (++rung_ < times_.size()) return Run(times_[rung_].samples);
    rung_ = 0;
    ++rounds_;
    const double used = ToSeconds(loop_.Now() - started_) / ToSeconds(options_.patience);
    const double part = static_cast<double>(rounds_) / std::max(options_.rounds, kLeastRounds);
    Report(std::max(used, part));
    if (rounds_ < kLeastRounds || (used < 1 && part < 1)) return Run(times_.front().samples);
    done_(std::move(times_));
  }

  void Climb(uint64_t count, double seconds) {
    if (times_.empty() || times_.back().samples != count) {
      times_.push_back({count, {}});
      attempts_ = 0;
      quickest_ = seconds;
    }
    quickest_ = std::min(quickest_, seconds);
    const double used = ToSeconds(loop_.Now() - started_);
    const double patience = ToSeconds(options_.patience);
    Report(used / patience);
    if (count * 2 <= options_.most_samples) {
      // The next size would take twice as long as this, in this climb and in each round.
      const bool short_enough = used + (kLeastRounds + 1) * 4 * quickest_ < patience;
      const bool needed = times_.size() < kLeastSizes || quickest_ < kNothing * patience;
      if (short_enough || needed) return Run(count * 2);
      // One slow run must not end the climb, and the very first one includes preparations.
      if (++attempts_ < kAttempts) return Run(count);
    }
    climbing_ = false;
    Run(times_.front().samples);
  }

  void Report(double part) {
    if (options_.progress) options_.progress(std::min(part, 1.0));
  }

  // Adjacent samples of a piece are far apart in memory, as in a shuffled epoch.
  static constexpr uint64_t kStride = 7919;

  Loop& loop_;
  Device& device_;
  const Model& model_;
  ModelSession session_;
  const Dataset samples_;
  const LadderOptions options_;
  const Done done_;
  std::vector<uint32_t> rows_;
  std::vector<float> parameters_;
  std::vector<float> gradient_;
  std::vector<SizedTimes> times_;
  Time started_{};
  bool climbing_ = true;
  uint32_t attempts_ = 0;  // Runs at the highest size.
  double quickest_ = 0;
  size_t rung_ = 0;
  uint32_t rounds_ = 0;
};

}  // namespace

void MeasureLadder(Loop& loop, Device& device, const Model& model, Dataset samples,
                   const LadderOptions& options,
                   std::function<void(Result<std::vector<SizedTimes>>)> done) {
  MOTLEY_ASSERT(samples.rows() > 0);
  std::make_shared<Ladder>(loop, device, model, std::move(samples), options, std::move(done))
      ->Start();
}

}  // namespace motley
