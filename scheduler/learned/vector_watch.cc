// SPDX-License-Identifier: Apache-2.0
#include "scheduler/learned/vector_watch.h"

#include <algorithm>
#include <variant>

namespace motley {
namespace {

// The weight of a new measurement. Other traffic only ever makes a measurement longer.
constexpr double kShorter = 0.5, kLonger = 0.05;
// The part of their times for which vectors must overlap to show what they share.
constexpr double kOverlap = 0.2;

double MiddleOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Follow(double seconds, std::optional<double>& learned) {
  if (!learned) {
    learned = seconds;
  } else {
    *learned += (seconds < *learned ? kShorter : kLonger) * (seconds - *learned);
  }
}

}  // namespace

void VectorWatch::See(const Event& event, Time now, double part) {
  if (const auto* row = std::get_if<RowArrived>(&event)) {
    Came(row->worker, row->transfer, part, now);
  } else if (const auto* sum = std::get_if<LeaseVector>(&event)) {
    Came(sum->worker, sum->transfer, 1, now);
  } else if (const auto* measured = std::get_if<LinkMeasured>(&event)) {
    std::optional<double>& alone = Of(measured->worker).alone;
    const double seconds = ToSeconds(measured->vector);
    alone = std::min(alone.value_or(seconds), seconds);
  } else if (const auto* placed = std::get_if<OwnersPlaced>(&event)) {
    for (const auto& [worker, link] : placed->workers) {
      const auto own = placed->parts.find(worker);
      const double sent = own != placed->parts.end() ? 1 - own->second : 1;
      Of(worker).alone = link.up > 0 ? sent * placed->bytes / link.up : 0;
    }
  } else if (const auto* joined = std::get_if<WorkerJoined>(&event)) {
    Of(joined->worker).alone.reset();  // The worker may be at another place now.
  }
}

VectorWatch::Seen& VectorWatch::Of(WorkerId worker) {
  if (worker >= seen_.size()) seen_.resize(worker + 1);
  return seen_[worker];
}

void VectorWatch::Came(WorkerId worker, Duration transfer, double part, Time now) {
  if (transfer <= Duration::zero()) return;
  Follow(ToSeconds(transfer) / part, Of(worker).among);
  vectors_ += part;
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

// A vector alone takes at least as long as it occupies the server's link.
double VectorWatch::message_seconds() const {
  double seconds = message_.value_or(0);
  for (const Seen& seen : seen_) seconds = std::min(seconds, seen.alone.value_or(seconds));
  return seconds;
}

bool VectorWatch::KnowsLinks() const {
  return std::any_of(seen_.begin(), seen_.end(),
                     [](const Seen& seen) { return seen.alone && seen.among; });
}

// The part of the time among all others that vectors take alone; 1 if unknown.
double VectorWatch::PartOfAlone() const {
  std::vector<double> parts;
  for (const Seen& seen : seen_) {
    if (seen.alone && seen.among) parts.push_back(std::min(1.0, *seen.alone / *seen.among));
  }
  return parts.empty() ? 1 : MiddleOf(std::move(parts));
}

std::optional<double> VectorWatch::Alone(const Seen& seen, double part) const {
  if (!seen.among) return seen.alone;
  return seen.alone ? std::min(*seen.alone, *seen.among) : part * *seen.among;
}

double VectorWatch::SendSeconds(WorkerId worker) const {
  const double part = PartOfAlone();
  std::optional<double> alone;
  if (worker < seen_.size()) alone = Alone(seen_[worker], part);
  if (!alone) {
    std::vector<double> known;
    for (const Seen& other : seen_) {
      if (const auto of_other = Alone(other, part)) known.push_back(*of_other);
    }
    if (known.empty()) return 0;
    alone = MiddleOf(std::move(known));
  }
  return std::max(0.0, *alone - message_seconds());
}

}  // namespace motley
