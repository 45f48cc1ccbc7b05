// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/forecast.h"

#include <algorithm>
#include <cmath>

namespace motley {
namespace {

// Reports that differ from the prediction by less than this count as noise. They are averaged with
// the prediction, which weighs as much as this many reports.
constexpr double kAgrees = 0.25;
constexpr double kPriorWeight = 1;
// A report may be late by this much before silence counts.
constexpr double kPatience = 1.25;
// The first report may be late by a further part of the time before it, because a worker that
// begins late need not be slow.
constexpr double kLateStart = 0.5;

}  // namespace

Forecast::Forecast(double seconds_per_partition, double overhead_seconds, double latency_seconds,
                   uint32_t report_every)
    : prior_(seconds_per_partition),
      overhead_(overhead_seconds),
      latency_(latency_seconds),
      report_every_(report_every),
      expected_(seconds_per_partition) {}

void Forecast::Start(double time) { since_ = std::max(since_, time); }

double Forecast::Begins() const {
  return done_ == 0 ? std::max(since_, data_) + overhead_ : since_;
}

void Forecast::Report(uint32_t done, double time, double compute_seconds) {
  if (done <= done_) return;
  worked_ += std::max(0.0, time - Begins());
  if (compute_seconds > 0) worked_ = compute_seconds;
  since_ = time;
  done_ = done;
  SetExpected();
}

void Forecast::SetExpected() {
  const double seen = worked_ / done_;
  const bool agrees = std::abs(seen - prior_) <= kAgrees * prior_;
  expected_ = agrees ? (kPriorWeight * prior_ + worked_) / (kPriorWeight + done_) : seen;
}

double Forecast::Silent(double time) const {
  const double wait = std::max(0.0, data_ - since_);
  const double late = done_ == 0 ? kLateStart * (wait + overhead_ + latency_) : 0;
  return time - latency_ - Begins() - late;
}

bool Forecast::Overdue(double time) const {
  return Silent(time) > kPatience * Expected() * report_every_;
}

double Forecast::Seconds(double time) const {
  return Overdue(time) ? Silent(time) / report_every_ : Expected();
}

double Forecast::DoneAt(uint32_t entry, double time, double seconds) const {
  return std::max(time, Begins() + (entry - done_) * seconds);
}

}  // namespace motley
