// SPDX-License-Identifier: Apache-2.0
// When one worker will be done with its list, from what it reported so far in this step. Pure.
#pragma once

#include <cstdint>

namespace motley {

// Times are seconds since the beginning of the step, as the worker lived them: a report is dated
// when it was sent.
class Forecast {
 public:
  // `latency_seconds`: a report is known that long after it was sent. One comes after every
  // `report_every` entries.
  Forecast(double seconds_per_partition, double overhead_seconds, double latency_seconds,
           uint32_t report_every = 1);

  // It had nothing to do until `time`, and has since.
  void Start(double time);
  // Nothing comes to it before `time`, because data are on their way.
  void SetData(double time) { data_ = time; }
  // Until when, as long as it has not begun; 0: nothing is known to be.
  double DataDue() const { return done_ == 0 ? data_ : 0; }
  // `done` entries in all were computed by `time`; in so many seconds, if the worker says so: then
  // whatever it waited for is no slowness.
  void Report(uint32_t done, double time, double compute_seconds = 0);

  // Seconds per partition, judged at `time`: what was predicted while reports agree with it, what
  // they say otherwise; and never less than silence since the last one proves.
  double Seconds(double time) const;
  double Expected() const { return expected_; }  // The same from reports alone.
  // Its report is so late that its silence says it is slow.
  bool Overdue(double time) const;
  // When entry number `entry` (from 1; more than were reported) will be done, judged at `time`.
  double DoneAt(uint32_t entry, double time) const { return DoneAt(entry, time, Seconds(time)); }
  // The same, with Seconds(time) at hand.
  double DoneAt(uint32_t entry, double time, double seconds) const;
  uint32_t done() const { return done_; }

 private:
  void SetExpected();
  double Begins() const;             // The first entry that it has not reported.
  double Silent(double time) const;  // Since its last word was sent, or it should have begun.

  double prior_;
  double overhead_;
  double latency_;
  double report_every_;
  double data_ = 0;
  double worked_ = 0;  // Seconds that the reported entries took.
  double since_ = 0;   // Of the last report, or start.
  uint32_t done_ = 0;
  double expected_;
};

}  // namespace motley
