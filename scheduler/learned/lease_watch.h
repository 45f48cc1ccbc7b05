// SPDX-License-Identifier: Apache-2.0
// Learns from a worker's messages how long they travel, and when its silence is no longer normal.
// Pure bookkeeping of one worker; it decides nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "base/ids.h"
#include "base/time.h"
#include "scheduler/learned/deadline.h"

namespace motley {

// Learned over steps.
struct LeaseHabits {
  double latency = 0.0005;   // Seconds, one way, of a control message.
  double overhead = 0;       // Seconds of a step before its first partition.
  double chunk = 1;          // Partitions between two reports.
  double message = 0;        // Seconds that its vector takes.
  double wait = 0;           // Seconds that a row's answer takes besides computing.
  double wait_spread = 0;    // The average error of one such measurement.
  StepId round_trip_in = 0;  // The last step in which one was measured.
  bool behind_data = false;  // `latency` is only a guess so far: its messages waited for data.
  bool vector_behind_data = false;                                  // The same for `message`.
  uint32_t round_trips = 0, overheads = 0, vectors = 0, waits = 0;  // Numbers of measurements.
  uint32_t fenced = 0;  // Times in a row, without an answer in between.
  // Leases that it did not deliver. Each vector that comes reduces the weight of older ones.
  double missed = 0;
  bool delivered = false;  // A vector came since it joined.
  Time rests_until{};      // Until then it gets no leases, as long as others are there.
  // A worker that is too slow for a lease would never be measured again. It therefore gets a trial
  // lease now and then, more rarely each time it disappoints.
  uint32_t idle_steps = 0;  // Steps in a row without a lease.
  uint32_t try_after = kFirstTry;
  bool tried = false;

  static constexpr uint32_t kFirstTry = 20, kLastTry = 320;

  void SawRoundTrip(double seconds, StepId step, bool waited_for_data);
  void SawOverhead(double seconds);
  void SawChunk(double partitions);
  void SawVector(double seconds, bool waited_for_data);
  void SawWait(double seconds);
  void SawVectorCome();
  // The worker did not deliver, which held a step up for `held`. The first failure may happen to
  // any worker. From the second failure in a row on it rests for a time in proportion, which
  // doubles each time.
  void Missed(Duration held, Time now);
  // The best estimate of `wait`, possibly from leases.
  double Wait() const { return waits > 0 ? wait : overhead + message + 2 * latency; }
  // The part of the wait that is certain. Shares that follow noise would leave all work to one of
  // two equal workers.
  double SureWait() const { return waits > 0 ? std::max(0.0, wait - wait_spread) : Wait(); }
};

// The state of a worker in the open step.
struct LeaseWatch {
  struct Ask {
    Time at;
    bool ping;  // It asks for nothing but a message.
  };

  bool takes_part = false;
  bool fenced = false;    // No longer takes part.
  bool helpless = false;  // The worker is silent, but nobody is there to do its work.
  double seconds = 0;     // Per partition, as predicted.
  uint32_t done = 0;      // As reported.
  Duration compute{};     // Compute time of the `done` partitions.
  uint32_t chunk = 0;     // The most partitions between two reports.
  uint32_t placed = 0;    // Partitions sent because a lease needed them.
  // Partitions in `placed` that belong to its first lease, until that lease is done.
  uint32_t first = 0;
  Time since{};          // The time of its first lease.
  Time moved{};          // The last time that it got work to begin with, or made progress.
  Time told{};           // When the server asked for its vector.
  std::deque<Ask> asks;  // Requests without an answer so far.
};

}  // namespace motley
