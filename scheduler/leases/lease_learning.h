// SPDX-License-Identifier: Apache-2.0
// Learns from a worker's messages about its leases: its speed, the time that its messages take, and
// the time to send data. Updates JobState; otherwise pure.
#pragma once

#include "scheduler/job_state.h"
#include "scheduler/learned/lease_watch.h"

namespace motley {

// Partitions that the worker's next message may wait for. Parameters may follow its own data late,
// behind data of others.
uint32_t DataInFront(const JobState& job, const LeaseWatch& watch, WorkerId worker);
// The worker made progress. `opened`: when the step opened.
void LearnFromProgress(const LeaseProgress& event, Time opened, JobState& job, LeaseWatch& watch);
// True if a round trip would show the worker's latency, and none is known or the last one is old. A
// worker whose latency seems long would otherwise never be asked anything.
bool LatencyIsDue(const JobState& job, WorkerId worker);
// The step is over for the worker, and shows its speed. `owes`: it has not delivered everything.
void MeasureSpeed(WorkerId worker, bool owes, JobState& job, const LeaseWatch& watch);

// The worker failed to deliver several times in a row, and gets nothing for a while.
bool Rests(const JobState& job, WorkerId worker);

}  // namespace motley
