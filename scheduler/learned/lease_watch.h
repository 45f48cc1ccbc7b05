// SPDX-License-Identifier: Apache-2.0
// What a worker's messages say about how long its messages take, and when its silence is no longer
// normal. Pure bookkeeping of one worker; decides nothing.
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
  double wait = 0;           // Seconds that the answer of a row takes besides computing,
  double wait_spread = 0;    // and how far one such measurement is off on average.
  StepId round_trip_in = 0;  // The last one that was measured.
  bool behind_data = false;  // `latency` is no more than a guess: nothing else was measured yet.
  bool vector_behind_data = false;                                  // `message`, too.
  uint32_t round_trips = 0, overheads = 0, vectors = 0, waits = 0;  // Measured.
  uint32_t fenced = 0;  // Times in a row, without an answer in between.
  // Leases that it did not deliver; each vector that comes makes the older ones weigh less.
  double missed = 0;
  bool delivered = false;  // A vector, since it joined.
  Time rests_until{};      // Until then it is leased nothing, as long as others are there.
  // One that is too slow for a lease would never be measured again: it is tried now and then, more
  // rarely each time it disappoints.
  uint32_t idle_steps = 0;  // In a row without a lease.
  uint32_t try_after = kFirstTry;
  bool tried = false;

  static constexpr uint32_t kFirstTry = 20, kLastTry = 320;

  void SawRoundTrip(double seconds, StepId step, bool waited_for_data);
  void SawOverhead(double seconds);
  void SawChunk(double partitions);
  void SawVector(double seconds, bool waited_for_data);
  void SawWait(double seconds);
  void SawVectorCome();
  // It did not deliver, which held a step up for so long. The first time may happen to any worker;
  // from the second in a row on it rests in proportion, each time for twice as long.
  void Missed(Duration held, Time now);
  // What is known of `wait`, be it from leases.
  double Wait() const { return waits > 0 ? wait : overhead + message + 2 * latency; }
  // What is sure of it: shares that follow noise would leave all work to one of two equal workers.
  double SureWait() const { return waits > 0 ? std::max(0.0, wait - wait_spread) : Wait(); }
};

// In the open step.
struct LeaseWatch {
  struct Ask {
    Time at;
    bool ping;  // Asked for nothing but a word.
  };

  bool takes_part = false;
  bool fenced = false;    // Does not take part any more.
  bool helpless = false;  // Silent, but nobody is there to do its work.
  double seconds = 0;     // Per partition, as predicted.
  uint32_t done = 0;      // As reported.
  Duration compute{};     // Of those.
  uint32_t chunk = 0;     // Most partitions between two reports.
  uint32_t placed = 0;    // Partitions sent because a lease needed them.
  uint32_t first = 0;     // Of those, the ones of its first lease, until all of that is done.
  bool data = false;      // When the step opened, some were still on their way to it.
  Time since{};           // Its first lease.
  Time moved{};           // It was given something to begin with, or got on.
  Time told{};            // To send its vector.
  std::deque<Ask> asks;   // Not answered yet.
};

}  // namespace motley
