// SPDX-License-Identifier: Apache-2.0
#include "scheduler/learned/deadline.h"

#include <algorithm>

namespace motley {
namespace {

constexpr size_t kWindow = 128;       // The last arrivals that count.
constexpr size_t kEnough = 8;         // Fewer arrivals show too little.
constexpr double kDeviations = 6;     // k; 6 MAD are about 4 standard deviations of normal noise.
constexpr double kFloorFactor = 1.5;  // The limit is at least this many times the expected time.
// The limit is at least this long, because a scheduling hiccup is not an absence.
constexpr double kFloorSeconds = 0.05;
constexpr double kColdFactor = 4;  // Used while little is known.
constexpr double kColdSeconds = 1;
constexpr double kColdTransferSeconds = 2;  // For all the partitions of the first assignments.
constexpr double kMaxSeconds = 86400;       // Keeps sums of times far from overflow.

}  // namespace

void RobustWindow::Add(double value) {
  limit_known_ = false;
  if (values_.size() < capacity_) {
    values_.push_back(value);
  } else {
    sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), values_[next_]));
    values_[next_] = value;
    next_ = (next_ + 1) % capacity_;
  }
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), value), value);
}

double RobustWindow::Limit(double k) const {
  if (values_.empty()) return 0;
  if (limit_known_ && limit_k_ == k) return limit_;
  const size_t middle = sorted_.size() / 2;
  const double median = sorted_[middle];
  // The next deviation is the smaller one of the neighbours below and above.
  size_t below = middle;  // Values not passed yet.
  size_t above = middle;
  double deviation = 0;
  for (size_t passed = 0; passed <= middle; ++passed) {
    const bool lower = above == sorted_.size() ||
                       (below > 0 && median - sorted_[below - 1] < sorted_[above] - median);
    deviation = lower ? median - sorted_[--below] : sorted_[above++] - median;
  }
  limit_ = median + k * deviation;
  limit_k_ = k;
  limit_known_ = true;
  return limit_;
}

DeadlineModel::DeadlineModel() : ratios_(kWindow), transfers_(kWindow), begun_(kWindow) {}

void DeadlineModel::AddArrival(Duration elapsed, double expected_seconds, uint32_t placed) {
  if (expected_seconds <= 0) return;
  const double seconds = ToSeconds(elapsed);
  if (placed == 0) {
    ratios_.Add(seconds / expected_seconds);
  } else {
    transfers_.Add(std::max(0.0, seconds - expected_seconds) / placed);
  }
}

void DeadlineModel::AddBegun(Duration elapsed, double expected_seconds, uint32_t placed) {
  if (expected_seconds <= 0 || placed == 0) return;
  begun_.Add(std::max(0.0, ToSeconds(elapsed) - expected_seconds) / placed);
}

Duration DeadlineModel::Limit(double expected_seconds, uint32_t placed, double wait_seconds) const {
  double seconds = 0;
  if (ratios_.count() < kEnough || expected_seconds <= 0) {
    seconds = std::max(kColdFactor * (expected_seconds + wait_seconds), kColdSeconds);
  } else {
    seconds = std::max(ratios_.Limit(kDeviations) * expected_seconds,
                       kFloorFactor * expected_seconds + kFloorSeconds);
  }
  const RobustWindow& transfers = Transfers();
  if (placed > 0 && transfers.count() == 0) {
    seconds += kColdTransferSeconds;
  } else if (placed > 0 && transfers.count() < kEnough) {
    seconds += kFloorSeconds + kColdFactor * placed * transfers.Most();
  } else if (placed > 0) {
    seconds += kFloorFactor * placed * transfers.Limit(kDeviations);
  }
  return FromSeconds(std::min(seconds, kMaxSeconds));
}

}  // namespace motley
