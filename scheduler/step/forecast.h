// SPDX-License-Identifier: Apache-2.0
// Predicts when one worker will be done with its list, from its reports so far in this step. Pure.
#pragma once

#include <cstdint>

namespace motley {

// Times are seconds since the beginning of the step on the worker's side: a report has the time at
// which it was sent.
class Forecast {
 public:
  // A report becomes known `latency_seconds` after it was sent. One comes after every
  // `report_every` entries.
  Forecast(double seconds_per_partition, double overhead_seconds, double latency_seconds,
           uint32_t report_every = 1);

  // The worker had nothing to do until `time`, and has work since.
  void Start(double time);
  // The worker cannot begin before `time`, because data are on their way.
  void SetData(double time) { data_ = time; }
  // The time when data are due, as long as it has not begun; 0: none are known to be.
  double DataDue() const { return done_ == 0 ? data_ : 0; }
  // `done` entries in all were computed by `time`, in `compute_seconds` if the worker says so. With
  // this number, a wait does not count as slowness.
  void Report(uint32_t done, double time, double compute_seconds = 0);

  // Seconds per partition, judged at `time`: the predicted value while reports agree with it, and
  // the reported value otherwise. It is never less than the silence since the last report proves.
  double Seconds(double time) const;
  double Expected() const { return expected_; }  // The same from reports alone.
  // The worker's report is so late that its silence shows that it is slow.
  bool Overdue(double time) const;
  // When entry number `entry` (from 1, not reported yet) will be done, judged at `time`.
  double DoneAt(uint32_t entry, double time) const { return DoneAt(entry, time, Seconds(time)); }
  // The same for a known Seconds(time).
  double DoneAt(uint32_t entry, double time, double seconds) const;
  uint32_t done() const { return done_; }

 private:
  void SetExpected();
  double Begins() const;  // When the first entry that is not reported begins.
  // The silence since its last message was sent, or since it should have begun.
  double Silent(double time) const;

  double prior_;
  double overhead_;
  double latency_;
  double report_every_;
  double data_ = 0;
  double worked_ = 0;  // Seconds that the reported entries took.
  double since_ = 0;   // The time of the last report or start.
  uint32_t done_ = 0;
  double expected_;
};

}  // namespace motley
