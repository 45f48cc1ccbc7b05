// SPDX-License-Identifier: Apache-2.0
#include "sim/world/sim_device.h"

#include <algorithm>
#include <utility>

#include "devices/paced_device.h"

namespace motley {
namespace {

constexpr double kShortest = 0.1;        // Jitter leaves at least this part of a piece's time.
constexpr double kLongestSeconds = 1e9;  // Keeps sums of times within their range.

}  // namespace

Result<std::unique_ptr<SimDevice>> SimDevice::Create(Loop& loop, const DeviceProfile& profile,
                                                     Random random,
                                                     std::shared_ptr<SharedProcessors> shared) {
  MOTLEY_ASSIGN_OR_RETURN(auto host, MakeInlineDevice(loop));
  std::unique_ptr<SimDevice> device(new SimDevice(loop, profile, random, std::move(host)));
  device->shared_ = std::move(shared);
  return device;
}

SimDevice::~SimDevice() {
  *destroyed_ = true;
  Leave();
  if (timer_ != 0) loop_.Cancel(timer_);
}

Duration SimDevice::RecordedTime(double units) {
  replayed_units_ += units;
  const double until = std::max(replayed_seconds_, recorded_(replayed_units_));
  const double seconds = (until - replayed_seconds_) * slowness_;
  replayed_seconds_ = until;
  return FromSeconds(std::min(seconds, kLongestSeconds));
}

Duration SimDevice::ModelledTime(double units) {
  if (recorded_ && units > 0) return RecordedTime(units);
  const double full = std::max(units, profile_.knee_samples);
  double seconds = units > 0 ? profile_.overhead_seconds + full / profile_.samples_per_second : 0;
  seconds *= slowness_;
  if (seconds > 0 && profile_.jitter > 0) {
    seconds *= std::max(kShortest, 1 + profile_.jitter * random_.Normal());
  }
  if (seconds > 0 && profile_.tail_probability > 0 && random_.Chance(profile_.tail_probability)) {
    seconds *= profile_.tail_factor;
  }
  return seconds > 0 ? FromSeconds(std::min(seconds, kLongestSeconds)) : Duration::zero();
}

void SimDevice::Submit(double units, Work work, Done done) {
  const Time now = loop_.Now();
  const Duration modelled = ModelledTime(units);
  if (busy_) {
    waiting_.push_back({now, modelled, std::move(work), std::move(done)});
  } else {
    done_ = std::move(done);
    Begin(now, modelled, work);
  }
}

// Returns how many times as long as alone a piece takes that begins now.
double SimDevice::Occupy() {
  occupies_ = true;
  return std::max(1.0, ++shared_->busy / shared_->count);
}

void SimDevice::Leave() {
  if (std::exchange(occupies_, false)) --shared_->busy;
}

// Begins the piece that done_ belongs to.
void SimDevice::Begin(Time submitted, Duration modelled, const Work& work) {
  busy_ = true;
  ++begun_;
  if (shared_ != nullptr) modelled = FromSeconds(ToSeconds(modelled) * Occupy());
  const Time due = std::max(submitted, previous_done_) + modelled;
  timer_ = loop_.After(std::max(due - loop_.Now(), Duration::zero()), [this] { Finish(); });
  status_ = work();  // Nobody sees the results before Finish.
}

void SimDevice::Finish() {
  timer_ = 0;
  if (hung_) return;  // The piece keeps its processor.
  if (const Duration left = stalled_until_ - loop_.Now(); left > Duration::zero()) {
    timer_ = loop_.After(left, [this] { Finish(); });
    return;
  }
  Leave();
  if (!failure_.ok()) status_ = failure_;
  previous_done_ = loop_.Now();
  const auto destroyed = destroyed_;
  std::vector<Task> reports = std::exchange(reports_, {});
  if (!status_.ok()) reports.clear();
  for (Task& report : reports) {
    report();
    if (*destroyed) return;
  }
  std::exchange(done_, nullptr)(std::move(status_));
  if (*destroyed) return;
  busy_ = !waiting_.empty();
  if (!busy_) return;
  Piece next = waiting_.pop_front();
  done_ = std::move(next.done);
  Begin(next.submitted, next.modelled, next.work);
}

}  // namespace motley
