// SPDX-License-Identifier: Apache-2.0
#include "scheduler/vector_watch.h"

#include <algorithm>
#include <variant>

namespace motley {
namespace {

// What one more measurement weighs: others in the way only ever make it longer.
constexpr double kShorter = 0.5, kLonger = 0.05;
// Of their times, by which vectors came at the same time: then they say what they share.
constexpr double kOverlap = 0.2;

void Follow(double seconds, std::optional<double>& learned) {
  if (!learned) {
    learned = seconds;
  } else {
    *learned += (seconds < *learned ? kShorter : kLonger) * (seconds - *learned);
  }
}

}  // namespace

void VectorWatch::See(const Event& event, Time now) {
  if (const auto* row = std::get_if<RowArrived>(&event)) Came(row->worker, row->transfer, now);
  if (const auto* sum = std::get_if<LeaseVector>(&event)) Came(sum->worker, sum->transfer, now);
}

void VectorWatch::Came(WorkerId worker, Duration transfer, Time now) {
  if (transfer <= Duration::zero()) return;
  if (worker >= alone_.size()) alone_.resize(worker + 1);
  Follow(ToSeconds(transfer), alone_[worker]);
  ++vectors_;
  sum_ += ToSeconds(transfer);
  std::pair<Time, Time> span(now - transfer, now);
  while (!busy_.empty() && busy_.back().second >= span.first) {
    span.first = std::min(span.first, busy_.back().first);
    busy_.pop_back();
  }
  busy_.push_back(span);
}

void VectorWatch::StepEnded() {
  double busy = 0;
  for (const auto& [from, to] : busy_) busy += ToSeconds(to - from);
  if (vectors_ > 0) {
    const double each = busy / vectors_;
    const bool overlapped = sum_ - busy > kOverlap * each;
    if (overlapped || !message_ || each < *message_) Follow(each, message_);
  }
  busy_.clear();
  vectors_ = 0;
  sum_ = 0;
}

double VectorWatch::SendSeconds(WorkerId worker) const {
  if (worker < alone_.size() && alone_[worker]) {
    return std::max(0.0, *alone_[worker] - message_seconds());
  }
  std::vector<double> known;
  for (const auto& each : alone_) {
    if (each) known.push_back(*each);
  }
  if (known.empty()) return 0;
  std::sort(known.begin(), known.end());
  return std::max(0.0, known[known.size() / 2] - message_seconds());
}

}  // namespace motley
